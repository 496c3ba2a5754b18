/** How far to advance virtual time, as `POST /clock/advance` takes it. */
export type Advance = { readonly ms: number } | { readonly to: string };

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** What `readAdvance` accepts, for people. */
export const ADVANCE_FORMS = 'write 500ms, 30s, 5m, 2h or 7d, or a date-time such as 2030-01-31T12:00:00Z';

/** Reads `5m` as milliseconds, and an ISO 8601 date-time as the time to advance to. Null for any other text. */
export function readAdvance(text: string): Advance | null {
  const [, amount, unit = ''] = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text) ?? [];
  if (amount !== undefined) return { ms: Number(amount) * (UNITS[unit] ?? 1) };
  return /^\d{4}-\d\d-\d\dT/.test(text) ? { to: text } : null;
}
