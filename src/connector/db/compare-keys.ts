/** Orders keys by code unit: the same order in every process, whatever its locale. */
export function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
