import { SCOPES } from '../../contract/service/scopes.ts';
import type { BaseUrls } from '../kernel/base-urls.ts';
import { issuerOf, OAUTH_PATHS } from './addresses.ts';

/**
 * What the server says of itself (RFC 8414, RFC 9207). One way to prove a client, one challenge method, one
 * flow: a client that can read this needs no other document. [oauth.discovery]
 */
export function describeServer(baseUrls: BaseUrls): object {
  const issuer = issuerOf(baseUrls);
  return {
    issuer,
    // [oauth.paths]
    authorization_endpoint: issuer + OAUTH_PATHS.authorize,
    token_endpoint: issuer + OAUTH_PATHS.token,
    revocation_endpoint: issuer + OAUTH_PATHS.revoke,
    jwks_uri: issuer + OAUTH_PATHS.jwks,
    scopes_supported: SCOPES,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    // [oauth.client-auth]
    token_endpoint_auth_methods_supported: ['client_secret_post'],
    revocation_endpoint_auth_methods_supported: ['client_secret_post'],
    code_challenge_methods_supported: ['S256'], // [oauth.code]
    authorization_response_iss_parameter_supported: true,
  };
}
