/** Longer texts of clients and receivers are recorded up to here, in bytes. */
const RECORDED_BYTES = 2_048;

/** Keeps the beginning of bytes that arrive in pieces. */
export class Beginning {
  #chunks: Buffer[] = [];
  #length = 0;

  add(chunk: Uint8Array): void {
    // One more, to know whether there is more.
    const kept = chunk.subarray(0, RECORDED_BYTES + 1 - this.#length);
    if (kept.length === 0) return;
    // A copy: the piece may be a part of something large.
    this.#chunks.push(Buffer.from(kept));
    this.#length += kept.length;
  }

  /** The text so far, at most 2 kB; one that is cut off ends with `…`. Contains no NUL, which Postgres does not store. */
  text(): string {
    const isCut = this.#length > RECORDED_BYTES;
    const bytes = Buffer.concat(this.#chunks).subarray(0, RECORDED_BYTES);
    const text = new TextDecoder().decode(bytes, { stream: isCut }).replaceAll('\0', '\ufffd');
    return isCut ? `${text}…` : text;
  }
}

export function beginningOf(text: Uint8Array | string): string {
  const beginning = new Beginning();
  beginning.add(typeof text === 'string' ? Buffer.from(text.slice(0, RECORDED_BYTES + 1)) : text);
  return beginning.text();
}
