/**
 * What a token of the connector is allowed to do:
 * - `read`: read messages, connections, changes and state.
 * - `write`: the daily work of a CRM: send, mark as read, create, pair and delete connections,
 *   start consents. A web tier that only links customers needs no other right.
 * - `operate`: the work of an operator: API keys of accounts, removal of accounts, rotation, polling on request,
 *   consumers, dead letters, retried sends.
 * - `metrics`: read `GET /metrics`.
 */
export const RIGHTS = ['read', 'write', 'operate', 'metrics'] as const;

export type Right = (typeof RIGHTS)[number];

/** The name of the token in `CONNECTOR_API_TOKEN`, which has all rights. */
export const ALL_RIGHTS_NAME = 'CONNECTOR_API_TOKEN';
