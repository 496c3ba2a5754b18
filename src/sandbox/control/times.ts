/** ISO 8601 of epoch milliseconds. */
export function toIso(ms: number): string {
  return new Date(ms).toISOString();
}
