import { notModeled, section } from './requirement.ts';

/** Part 5: authentication. */
export const AUTHENTICATION = [
  ...section('Authentication', {
    'auth.bearer': 'Every endpoint accepts the credential in the `Authorization: Bearer` header.',
    'auth.key.no-expiry': 'An API key does not expire.',
    'auth.key.first-connection': 'An API key can create the first connection.',
    'auth.oauth.token':
      'An access token is a JWT valid for 15 minutes; its refresh token is valid for 30 days.',
    'auth.oauth.needs-connection': 'An OAuth grant needs an existing connection.',
  }),
  ...section('API keys', {
    'auth.key.portal': notModeled(
      'API keys are created and revoked in the developer portal.',
      'There is no portal; the sandbox creates and revokes keys.',
    ),
    'auth.key.shown-once': 'A key is shown once, when it is created.',
    'auth.key.hashed': 'Only a hash of the key is stored.',
    'auth.key.scopes': 'Each key carries scopes.',
    'auth.key.allowlist': 'A key may carry an allowlist of IPv4 and IPv6 addresses and CIDR ranges.',
    'auth.key.live-revoked': 'A revocation takes effect on the next call.',
    'auth.key.live-scopes': 'Narrowed scopes take effect on the next call.',
    'auth.key.live-connections': 'A narrowed connection list takes effect on the next call.',
    'auth.key.off-list': 'A call from an address that is not on the allowlist returns 403 `ip_not_allowed`.',
    'auth.key.unknown-address':
      'If the caller address cannot be determined, a key with an allowlist fails closed.',
    'auth.key.no-allowlist': 'A key without an allowlist works from any address.',
    'auth.key.unknown': 'An unknown key returns 401 `invalid_key`.',
    'auth.key.revoked': 'A revoked key returns 401 `invalid_key`.',
    'auth.challenge': 'Authentication errors carry `WWW-Authenticate: Bearer` with an error parameter.',
  }),
  ...section('Scopes', {
    'scopes.read': '`messaging.read` allows listing connections, reading messages and reading the account.',
    'scopes.send': '`messaging.send` allows sending messages and read receipts.',
    'scopes.events': '`messaging.events` allows calling the webhook endpoints.',
    'scopes.manage':
      '`messaging.manage` allows creating, inspecting, pairing, restarting, logging out and deleting connections.',
    'scopes.missing': 'A credential without the scope gets 403 `insufficient_scope`.',
  }),
  ...section('OAuth 2.0', {
    'oauth.code': 'OAuth uses the authorization code flow with PKCE; S256 is required.',
    'oauth.client-auth': 'The token endpoint uses `client_secret_post` authentication.',
    'oauth.discovery': 'The discovery document is at `/.well-known/oauth-authorization-server`.',
    'oauth.paths':
      'The discovery document gives the authorize and token endpoints; the specification does not state their paths.',
    'oauth.refresh.rotates': 'A refresh invalidates the old refresh token.',
    'oauth.refresh.serialized': 'A client serializes its refreshes.',
    'oauth.refresh.on-401': 'On a 401, a client refreshes once and retries.',
    'oauth.grant.existing': 'An authorize request with an empty connection list is rejected.',
    'oauth.consent.portal': 'A portal admin approves with a user code.',
    'oauth.consent.standalone':
      'The owner of a standalone workspace chooses the workspace, connections and scopes.',
    'oauth.consent.automatic':
      'Approval is automatic for a developer who owns exactly one standalone workspace with at least one connection.',
  }),
];
