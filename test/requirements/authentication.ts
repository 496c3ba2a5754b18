import { notModelled, section } from './requirement.ts';

/** Part 5: authentication. */
export const AUTHENTICATION = [
  ...section('Authentication', {
    'auth.bearer': 'The credential stands in `Authorization: Bearer` and is taken on every endpoint.',
    'auth.key.no-expiry': 'An API key does not expire.',
    'auth.key.first-connection': 'An API key can create the first connection.',
    'auth.oauth.token': 'An access token is a JWT of 15 minutes with a refresh token of 30 days.',
    'auth.oauth.needs-connection': 'A grant needs a connection that exists.',
  }),
  ...section('API keys', {
    'auth.key.portal': notModelled(
      'Keys are made and revoked in the developer portal.',
      'There is no portal; the sandbox makes and revokes keys.',
    ),
    'auth.key.shown-once': 'A key is shown once, when it is made.',
    'auth.key.hashed': 'Only a hash of the key is stored.',
    'auth.key.scopes': 'A key carries scopes.',
    'auth.key.allowlist': 'A key may carry an allowlist of IPv4 and IPv6 addresses and CIDR ranges.',
    'auth.key.live-revoked': 'A revocation takes effect on the next call.',
    'auth.key.live-scopes': 'Narrowed scopes take effect on the next call.',
    'auth.key.live-connections': 'A narrowed list of connections takes effect on the next call.',
    'auth.key.off-list': 'A call from an address off the allowlist answers 403 `ip_not_allowed`.',
    'auth.key.unknown-address': 'When the address cannot be told, a key with an allowlist fails closed.',
    'auth.key.no-allowlist': 'A key without an allowlist works from anywhere.',
    'auth.key.unknown': 'An unknown key answers 401 `invalid_key`.',
    'auth.key.revoked': 'A revoked key answers 401 `invalid_key`.',
    'auth.challenge': 'Authentication errors carry `WWW-Authenticate: Bearer` with an error parameter.',
  }),
  ...section('Scopes', {
    'scopes.read': '`messaging.read` allows to list connections and to read messages and the account.',
    'scopes.send': '`messaging.send` allows to send messages and read receipts.',
    'scopes.events': '`messaging.events` allows the webhook endpoints.',
    'scopes.manage': '`messaging.manage` allows to create, inspect, pair, restart, log out and delete.',
    'scopes.missing': 'A credential without the scope gets 403 `insufficient_scope`.',
  }),
  ...section('OAuth 2.0', {
    'oauth.code': 'Authorization code with PKCE; S256 is required.',
    'oauth.client-auth': 'The token endpoint takes `client_secret_post`.',
    'oauth.discovery': 'Discovery is at `/.well-known/oauth-authorization-server`.',
    'oauth.paths': 'The discovery document leads to the endpoints; their paths are not shown.',
    'oauth.refresh.rotates': 'A refresh voids the old refresh token.',
    'oauth.refresh.serialized': 'A client refreshes one at a time.',
    'oauth.refresh.on-401': 'On 401 a client refreshes once and repeats.',
    'oauth.grant.existing': 'An authorize request with an empty list of connections is refused.',
    'oauth.consent.portal': 'A portal admin approves with a user code.',
    'oauth.consent.standalone':
      'The owner of a standalone workspace chooses workspace, connections and scopes.',
    'oauth.consent.automatic':
      'A developer who owns exactly one standalone workspace with a connection is approved at once.',
  }),
];
