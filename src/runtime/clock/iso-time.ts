/** Epoch milliseconds as an ISO 8601 date-time, as the API writes every time. */
export function toIso(ms: number): string {
  return new Date(ms).toISOString();
}

/** The same for a time that may be unknown. */
export function toIsoOrNull(ms: number | null): string | null {
  return ms === null ? null : toIso(ms);
}
