/**
 * Text as Postgres can hold it: NUL and lone surrogates become U+FFFD. For text that was derived from a
 * delivery or a page; the raw bytes in the inbox stay as they came.
 */
export function toStorableText<T extends string | null>(text: T): T | string {
  if (text === null || (text.isWellFormed() && !text.includes('\0'))) return text;
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}
