import { z } from 'zod';

/** The scopes that a credential can carry, in the order of the documentation. [wire.names] */
export const SCOPES = ['messaging.read', 'messaging.send', 'messaging.events', 'messaging.manage'] as const;

/** One scope name, as in an API key or an OAuth grant. */
export const scope = z.enum(SCOPES);
export type Scope = z.infer<typeof scope>;

/** What each scope allows, for people. */
export const SCOPE_MEANINGS: Readonly<Record<Scope, string>> = {
  'messaging.read': 'List connections, read messages and the account.', // [scopes.read]
  'messaging.send': 'Send messages and read receipts.', // [scopes.send]
  'messaging.events': 'Read, set and rotate the webhook.', // [scopes.events]
  'messaging.manage': 'Create, inspect, pair, restart, log out and delete connections.', // [scopes.manage]
};
