/**
 * What a token of the connector may do:
 * - `read`: read messages, connections, changes and state.
 * - `write`: what a CRM does in its daily work: send, mark as read, create, pair and delete connections,
 *   start consents. A web tier that links customers needs no more.
 * - `operate`: what an operator does: API keys of accounts, removal of accounts, rotation, polling now, dead letters, repeated sends.
 * - `metrics`: read `GET /metrics`.
 */
export const RIGHTS = ['read', 'write', 'operate', 'metrics'] as const;

export type Right = (typeof RIGHTS)[number];
