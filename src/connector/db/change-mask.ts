/** Bits that say what a write changed on a message; `BOOKKEEPING` alone makes no change in the feed. */
export const CHANGE = { created: 1, status: 2, fields: 4, bookkeeping: 8 } as const;
