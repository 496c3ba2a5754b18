import { z } from 'zod';

/** The scopes that a credential can carry, in the order of the documentation. Implements `Scopes`. */
export const SCOPES = ['messaging.read', 'messaging.send', 'messaging.events', 'messaging.manage'] as const;

/** One scope name, as in an API key or an OAuth grant. */
export const scope = z.enum(SCOPES);
export type Scope = z.infer<typeof scope>;

/** What each scope allows, for people. */
export const SCOPE_MEANINGS: Readonly<Record<Scope, string>> = {
  'messaging.read': 'List connections, read messages and the account.',
  'messaging.send': 'Send messages and read receipts.',
  'messaging.events': 'Read, set and rotate the webhook.',
  'messaging.manage': 'Create, inspect, pair, restart, log out and delete connections.',
};
