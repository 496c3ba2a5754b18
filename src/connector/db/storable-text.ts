/**
 * Text that Postgres can store: NUL and lone surrogates become U+FFFD. For text derived from a delivery or a
 * page; the raw bytes in the inbox are unchanged.
 */
export function toStorableText<T extends string | null>(text: T): T | string {
  if (text === null || (text.isWellFormed() && !text.includes('\0'))) return text;
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}
