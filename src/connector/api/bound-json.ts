const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING: ReadonlySet<number> = new Set(Buffer.from('[{'));
const CLOSING: ReadonlySet<number> = new Set(Buffer.from(']}'));

export interface JsonBound {
  /** Bytes outside of texts: what is not a name or a text costs many times its size once it is parsed. */
  readonly plainBytes: number;
  readonly depth: number;
}

/** The `type` of the error that refuses a body, as body parsers mark theirs. */
export const DENSE_BODY = 'body.dense';

/**
 * Looks at the bytes of a JSON body before they are parsed: brackets as large as a file would take gigabytes and
 * seconds. Throws for a body that is beyond `bound`; whether it is JSON at all is the parser's to say.
 */
export function boundJson({ plainBytes, depth: deepest }: JsonBound) {
  return (_request: unknown, _response: unknown, bytes: Uint8Array): void => {
    let plain = 0;
    let depth = 0;
    let inText = false;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      if (byte === QUOTE) inText = !inText;
      else if (inText) {
        // What is escaped ends no text.
        if (byte === BACKSLASH) at += 1;
        continue;
      } else if (OPENING.has(byte)) depth += 1;
      else if (CLOSING.has(byte)) depth -= 1;
      plain += 1;
      if (plain > plainBytes || depth > deepest)
        throw Object.assign(new Error('a body holds too much beside its texts'), { type: DENSE_BODY });
    }
  };
}
