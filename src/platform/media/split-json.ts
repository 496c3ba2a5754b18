/** A part of a JSON text: what is to be parsed as usual, and the one string that is taken out of it. */
export type JsonPart =
  | { readonly kind: 'rest'; readonly bytes: Buffer }
  /** The string begins; its opening quote belongs to the rest. It may begin again: the last one counts. */
  | { readonly kind: 'begin' }
  /** The next bytes of it, escapes resolved. Good until the chunk is reused. */
  | { readonly kind: 'text'; readonly bytes: Buffer }
  /** Its closing quote, which comes next, belongs to the rest. */
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

/** Copies only where there are several. */
function join(parts: readonly Buffer[]): Buffer {
  const [first] = parts;
  return first !== undefined && parts.length === 1 ? first : Buffer.concat(parts);
}

/**
 * Takes the string at a path of object keys out of a JSON text that comes in pieces, so that a large one is never
 * in memory as a whole. It checks nothing: a text that is no JSON leaves a rest that is none.
 */
export class JsonSplitter {
  readonly #path: readonly string[];
  readonly #frames: Frame[] = [];
  #state: 'between' | 'key' | 'string' | 'taken' = 'between';
  #escaped = false;
  #key: number[] = [];
  /** An escape of the taken string that is not complete yet. */
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

  /** One byte outside of the taken string. */
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

  /** The taken string from `from` on, to its closing quote or the end of the chunk. */
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

  /** Takes the next byte of an escape; answers what it stands for once it is complete. */
  #extendEscape(byte: number): string {
    this.#escape += String.fromCharCode(byte);
    const isLong = this.#escape.charCodeAt(1) === LETTER_U;
    if (isLong && this.#escape.length < LONG_ESCAPE) return '';
    const complete = this.#escape;
    this.#escape = '';
    return parseString(complete) ?? complete;
  }
}
