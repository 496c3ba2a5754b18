/** Texts of clients and receivers are recorded up to here, in bytes. */
const RECORDED_BYTES = 16_384;
/** Lists and streams contain thousands of them, and only so much of each. */
const LISTED_BYTES = 2_048;

const MARK = /… \((\d+) more bytes\)$/;

/** The text of the first bytes, without a part of a character. `clean` changes it before it is marked as cut off. */
function cut(bytes: Buffer, most: number, length: number, clean = (text: string): string => text): string {
  let end = Math.min(most, length);
  // The first byte that is left out may be the second, third or fourth one of a character.
  if (length > most) while (end > most - 3 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  const text = clean(new TextDecoder().decode(bytes.subarray(0, end)).replaceAll('\0', '\ufffd'));
  return length > most ? `${text}… (${length - end} more bytes)` : text;
}

/** Keeps the beginning of bytes that arrive in pieces, and counts the rest. */
export class Beginning {
  #chunks: Buffer[] = [];
  /** One more, to know where a character ends. */
  #room = RECORDED_BYTES + 1;
  #length = 0;

  add(chunk: Uint8Array): void {
    this.#length += chunk.length;
    if (this.#room === 0) return;
    // A copy: the piece may be a part of something large.
    const part = Buffer.from(chunk.subarray(0, this.#room));
    this.#chunks.push(part);
    this.#room -= part.length;
  }

  /**
   * The text so far, at most 16 kB; one that is cut off ends with `…` and the number of bytes that follow. Contains no
   * NUL, which Postgres does not store.
   */
  text(clean?: (text: string) => string): string {
    return cut(Buffer.concat(this.#chunks), RECORDED_BYTES, this.#length, clean);
  }
}

/** The same of a whole text, however long: only its beginning is encoded. */
export function beginningOf(text: Uint8Array | string, clean?: (text: string) => string): string {
  const most = RECORDED_BYTES + 1;
  const bytes =
    typeof text === 'string' ? Buffer.from(text.slice(0, most)) : Buffer.from(text.subarray(0, most));
  return cut(bytes, RECORDED_BYTES, Buffer.byteLength(text), clean);
}

/** What lists and streams show of a recorded text: at most 2 kB, marked in the same way. */
export function listedText(text: string): string {
  if (Buffer.byteLength(text) <= LISTED_BYTES) return text;
  const [mark = '', more = '0'] = MARK.exec(text) ?? [];
  const bytes = Buffer.from(text.slice(0, text.length - mark.length));
  return bytes.length <= LISTED_BYTES ? text : cut(bytes, LISTED_BYTES, bytes.length + Number(more));
}
