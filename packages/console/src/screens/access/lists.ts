import type { z } from 'zod';
import type { grantList } from '../../../../../src/contract/sandbox/access.ts';
import type { Scope } from '../../../../../src/contract/service/scopes.ts';
import { sandbox } from '../../data/client.ts';
import { showCount } from '../../ui/count.ts';

export type Grant = z.infer<typeof grantList>['entries'][number];

/** The longest page; a sandbox rarely has more of these. */
const query = { limit: '1000' };

export const WORKSPACES = {
  queryKey: ['workspaces'],
  queryFn: async () => (await sandbox('GET', '/workspaces', { query })).entries,
};
export const APPS = {
  queryKey: ['apps'],
  queryFn: async () => (await sandbox('GET', '/oauth-apps', { query })).entries,
};
export const GRANTS = {
  queryKey: ['grants'],
  queryFn: async () => (await sandbox('GET', '/grants', { query })).entries,
};

/** The connections of a workspace, by the keys and grants that are limited to some of them. */
export const connectionsOf = (workspaceId: string) => ({
  queryKey: ['connections', 'of', workspaceId],
  queryFn: async () =>
    (await sandbox('GET', '/connections', { query: { ...query, q: `workspace:${workspaceId}` } })).entries,
});

const GRANTED: Readonly<Record<Scope, true>> = {
  'messaging.read': true,
  'messaging.send': true,
  'messaging.events': true,
  'messaging.manage': true,
};
/** Every scope of the contract, whose values the page cannot import. */
export const SCOPES = Object.keys(GRANTED) as readonly Scope[];

/** `read, send`; `everything` for all of them. */
export function showScopes(scopes: readonly Scope[]): string {
  if (scopes.length === SCOPES.length) return 'everything';
  return scopes.map((scope) => scope.replace('messaging.', '')).join(', ');
}

/** `all connections`, `1 connection`. */
export function showConnections(ids: readonly string[] | null): string {
  if (ids === null) return 'all connections';
  return showCount(ids.length, 'connection');
}

/** Entries that are separated by spaces, commas or lines; null if there are none. */
export function readEntries(text: string): string[] | null {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== '');
  return entries.length === 0 ? null : entries;
}
