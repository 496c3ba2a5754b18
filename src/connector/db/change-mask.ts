/**
 * Bits that say what a write changed on a message. `created`, `status` and `fields` make changes in the feed;
 * `bookkeeping` (which webhooks came, whether a poll saw it) and `conflict` (`read` met `failed`) do not.
 */
export const CHANGE = { created: 1, status: 2, fields: 4, bookkeeping: 8, conflict: 16 } as const;
