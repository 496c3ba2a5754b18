/** A part of a JSON text: of the rest, which is parsed as usual, or of the one string that is extracted. */
export type JsonPart =
  | { readonly kind: 'rest'; readonly bytes: Buffer }
  /** The string begins. Its opening quote belongs to the rest. If the key is repeated, the last string counts. */
  | { readonly kind: 'begin' }
  /** The next bytes of the string, unescaped. Valid until the chunk is reused. */
  | { readonly kind: 'text'; readonly bytes: Buffer }
  /** The string ends. Its closing quote, which follows, belongs to the rest. */
  | { readonly kind: 'end' };

interface Frame {
  readonly isObject: boolean;
  key: string | null;
  awaitsKey: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const [COMMA, COLON, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x2c, 0x3a, 0x5b, 0x5d, 0x7b, 0x7d];
const LONG_ESCAPE = 6;

function parseString(inner: string): string | null {
  try {
    const value: unknown = JSON.parse(`"${inner}"`);
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}

/** Concatenates the parts, without copying a single one. */
function join(parts: readonly Buffer[]): Buffer {
  const [first] = parts;
  return first !== undefined && parts.length === 1 ? first : Buffer.concat(parts);
}

/**
 * Extracts the string at a path of object keys from a JSON text that arrives in pieces, so that a large string is
 * never in memory as a whole. It does not validate: if the text is not JSON, the rest is not JSON either.
 */
export class JsonSplitter {
  readonly #path: readonly string[];
  readonly #frames: Frame[] = [];
  #state: 'between' | 'key' | 'string' | 'taken' = 'between';
  #escaped = false;
  #key: number[] = [];
  /** An incomplete escape of the extracted string. */
  #escape = '';

  constructor(path: readonly string[]) {
    this.#path = path;
  }

  *split(chunk: Buffer): Generator<JsonPart> {
    let restFrom = 0;
    for (let at = 0; at < chunk.length; ) {
      if (this.#state === 'taken') {
        const { bytes, end } = this.#take(chunk, at);
        if (bytes.length > 0) yield { kind: 'text', bytes };
        at = end;
        restFrom = end;
        if (this.#state !== 'taken') yield { kind: 'end' };
        continue;
      }
      this.#step(chunk[at] ?? 0);
      at += 1;
      if (this.#isTaken()) {
        yield { kind: 'rest', bytes: chunk.subarray(restFrom, at) };
        restFrom = at;
        yield { kind: 'begin' };
      }
    }
    if (restFrom < chunk.length && !this.#isTaken()) yield { kind: 'rest', bytes: chunk.subarray(restFrom) };
  }

  #isTaken(): boolean {
    return this.#state === 'taken';
  }

  /** Processes one byte outside of the extracted string. */
  #step(byte: number): void {
    if (this.#state === 'between') {
      this.#stepBetween(byte);
    } else if (this.#escaped) {
      this.#escaped = false;
      if (this.#state === 'key') this.#key.push(byte);
    } else if (byte === QUOTE) {
      if (this.#state === 'key') this.#endKey();
      this.#state = 'between';
    } else {
      this.#escaped = byte === BACKSLASH;
      if (this.#state === 'key') this.#key.push(byte);
    }
  }

  #stepBetween(byte: number): void {
    const frame = this.#frames.at(-1);
    if (byte === QUOTE) this.#beginString(frame);
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      const isObject = byte === OPEN_OBJECT;
      this.#frames.push({ isObject, key: null, awaitsKey: isObject });
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) this.#frames.pop();
    else if (frame?.isObject === true && byte === COLON) frame.awaitsKey = false;
    else if (frame?.isObject === true && byte === COMMA) frame.awaitsKey = true;
  }

  #beginString(frame: Frame | undefined): void {
    if (frame?.awaitsKey === true) {
      this.#state = 'key';
      this.#key = [];
    } else this.#state = this.#matches() ? 'taken' : 'string';
  }

  #endKey(): void {
    const frame = this.#frames.at(-1);
    if (frame !== undefined) frame.key = parseString(Buffer.from(this.#key).toString());
  }

  #matches(): boolean {
    const frames = this.#frames;
    return (
      frames.length === this.#path.length &&
      frames.every(({ key, isObject }, i) => isObject && key === this.#path[i])
    );
  }

  /** The extracted string from `from` to its closing quote or the end of the chunk. */
  #take(chunk: Buffer, from: number): { bytes: Buffer; end: number } {
    const parts: Buffer[] = [];
    let at = from;
    let quote = chunk.indexOf(QUOTE, at);
    while (at < chunk.length) {
      if (this.#escape !== '') {
        const resolved = this.#extendEscape(chunk[at] ?? 0);
        if (resolved !== '') parts.push(Buffer.from(resolved));
        at += 1;
        continue;
      }
      // The one found before was escaped.
      if (quote !== -1 && quote < at) quote = chunk.indexOf(QUOTE, at);
      const rest = chunk.subarray(at, quote === -1 ? chunk.length : quote);
      const backslash = rest.indexOf(BACKSLASH);
      parts.push(backslash === -1 ? rest : rest.subarray(0, backslash));
      if (backslash !== -1) this.#escape = '\\';
      else if (quote !== -1) {
        this.#state = 'string';
        return { bytes: join(parts), end: quote };
      }
      at += backslash === -1 ? rest.length : backslash + 1;
    }
    return { bytes: join(parts), end: chunk.length };
  }

  /** Adds the next byte of an escape; returns the unescaped text once the escape is complete. */
  #extendEscape(byte: number): string {
    this.#escape += String.fromCharCode(byte);
    const isLong = this.#escape.charCodeAt(1) === LETTER_U;
    if (isLong && this.#escape.length < LONG_ESCAPE) return '';
    const complete = this.#escape;
    this.#escape = '';
    return parseString(complete) ?? complete;
  }
}
