import { isUtf8 } from 'node:buffer';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING: ReadonlySet<number> = new Set(Buffer.from('[{'));
const CLOSING: ReadonlySet<number> = new Set(Buffer.from(']}'));

export interface JsonBound {
  /**
   * Maximum number of bytes outside strings: anything but names and strings takes many times its size once it is
   * parsed.
   */
  readonly plainBytes: number;
  readonly depth: number;
}

/** A body that is not to be parsed. The message completes "the body …". */
export class UnfitBody extends Error {
  override readonly name = 'UnfitBody';
}

/**
 * Checks the bytes of a JSON body before they are parsed: a file full of brackets would take gigabytes and
 * seconds, and bytes that are not UTF-8 would become other characters. Throws `UnfitBody` for these, and for a body
 * beyond `bound`; whether it is valid JSON is left to the parser.
 */
export function boundJson(bytes: Uint8Array, { plainBytes, depth: deepest }: JsonBound): void {
  if (!isUtf8(bytes)) throw new UnfitBody('must be JSON in UTF-8');
  let plain = 0;
  let depth = 0;
  let inText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) inText = !inText;
    else if (inText) {
      // An escaped character does not end a string.
      if (byte === BACKSLASH) at += 1;
      continue;
    } else if (OPENING.has(byte)) depth += 1;
    else if (CLOSING.has(byte)) depth -= 1;
    plain += 1;
    if (plain > plainBytes || depth > deepest)
      throw new UnfitBody('has too many levels, or too much data outside its strings');
  }
}
