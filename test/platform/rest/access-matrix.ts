import { expect } from 'vitest';

export const SCOPES = ['messaging.read', 'messaging.send', 'messaging.events', 'messaging.manage'] as const;
export type Scope = (typeof SCOPES)[number];

/** What a call names. `own` is in the caller's reach, all others are not. */
export const CONNECTIONS = [
  'unknown',
  'malformed',
  'of another workspace',
  'off the list of the key',
  'deleted',
] as const;
export const CURSORS = ['forged', 'cut short', 'of another workspace', 'of another filter'] as const;
export const MESSAGES = [
  'unknown',
  'of another workspace',
  'of a connection off the list',
  'of another connection',
  'outgoing',
] as const;

/** Every id that a call may name. */
export interface Names {
  readonly connection: string;
  readonly message: string;
  readonly cursor?: string;
}

export interface Row {
  readonly method: string;
  readonly scope: Scope;
  /** The path below the base URL, for the names of a call. */
  readonly path: (names: Names) => string;
  readonly body?: (names: Names) => object;
  /** What a name out of reach is answered: hidden as if it did not exist, or an empty page. */
  readonly foreign?: 'hidden' | 'empty page';
  readonly takes?: 'cursor' | 'message';
}

const at = (path: string) => () => path;

/** The 14 endpoints of the specification with the scope that each asks for; those that end sessions come last. */
export const ENDPOINTS: readonly Row[] = [
  { method: 'GET', scope: 'messaging.read', path: at('/connections') },
  { method: 'GET', scope: 'messaging.read', path: at('/account') },
  {
    method: 'GET',
    scope: 'messaging.read',
    path: ({ connection, cursor }) =>
      `/messages?connectionId=${connection}${cursor === undefined ? '' : `&cursor=${cursor}`}`,
    foreign: 'empty page',
    takes: 'cursor',
  },
  {
    method: 'POST',
    scope: 'messaging.send',
    path: at('/messages'),
    body: ({ connection }) => ({ connectionId: connection, to: '4915100000000', text: 'hello' }),
    foreign: 'hidden',
  },
  {
    method: 'POST',
    scope: 'messaging.send',
    path: at('/messages/read'),
    body: ({ connection, message }) => ({ connectionId: connection, messageId: message }),
    foreign: 'hidden',
    takes: 'message',
  },
  { method: 'GET', scope: 'messaging.events', path: at('/webhook') },
  {
    method: 'PUT',
    scope: 'messaging.events',
    path: at('/webhook'),
    body: () => ({ url: 'https://hooks.example/' }),
  },
  { method: 'POST', scope: 'messaging.events', path: at('/webhook/rotate') },
  { method: 'POST', scope: 'messaging.manage', path: at('/connections'), body: () => ({ label: 'new' }) },
  {
    method: 'GET',
    scope: 'messaging.manage',
    path: ({ connection }) => `/connections/${connection}`,
    foreign: 'hidden',
  },
  {
    method: 'POST',
    scope: 'messaging.manage',
    path: ({ connection }) => `/connections/${connection}/restart`,
    foreign: 'hidden',
  },
  {
    method: 'POST',
    scope: 'messaging.manage',
    path: ({ connection }) => `/connections/${connection}/logout`,
    foreign: 'hidden',
  },
  {
    method: 'POST',
    scope: 'messaging.manage',
    path: ({ connection }) => `/connections/${connection}/pairing-code`,
    body: () => ({ phoneNumber: '4915112345678' }),
    foreign: 'hidden',
  },
  {
    method: 'DELETE',
    scope: 'messaging.manage',
    path: ({ connection }) => `/connections/${connection}`,
    foreign: 'hidden',
  },
];

/** A credential of the matrix. */
export interface Caller {
  readonly what: string;
  readonly key: string | undefined;
  readonly revoked: boolean;
  readonly offList: boolean;
  readonly scopes: readonly Scope[];
  /** An access token. */
  readonly oauth?: boolean;
  /** Has no list of connections, so that only other workspaces are out of its reach. */
  readonly wholeWorkspace?: boolean;
}

/** Status, body and challenge of an answer. */
export type Expected = readonly [status: number, body: object, challenge: string | null];

export const HIDDEN: Expected = [404, { error: 'not_found' }, null];
export const EMPTY: Expected = [200, { messages: [], nextCursor: null, hasMore: false }, null];
export const BAD_CURSOR: Expected = [
  400,
  { error: 'invalid_request', field: 'cursor', hint: expect.any(String) },
  null,
];

/** The answer of the first check that refuses: credential, address, scope. Null when none does. */
export function refusalOf(caller: Caller, { scope }: Row): Expected | null {
  if (caller.revoked && caller.oauth === true) {
    return [401, { error: 'invalid_token' }, 'Bearer error="invalid_token"'];
  }
  if (caller.revoked) return [401, { error: 'invalid_key' }, 'Bearer error="invalid_token"'];
  if (caller.offList) return [403, { error: 'ip_not_allowed' }, 'Bearer error="ip_not_allowed"'];
  if (caller.scopes.includes(scope)) return null;
  return [403, { error: 'insufficient_scope' }, `Bearer error="insufficient_scope", scope="${scope}"`];
}

/** Every set of scopes. */
export function everySubset(): Scope[][] {
  return Array.from({ length: 2 ** SCOPES.length }, (_, bits) =>
    SCOPES.filter((_scope, index) => (bits >> index) % 2 === 1),
  );
}
