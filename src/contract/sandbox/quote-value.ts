/** A value as a filter contains it: in quotation marks where it needs them, with those that it contains doubled. */
export function quoteValue(value: string): string {
  return /^[^\s":*!]*$/.test(value) ? value : `"${value.replaceAll('"', '""')}"`;
}
