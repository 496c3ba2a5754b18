import type { Scope } from '../../../contract/service/scopes.ts';
import { ASSUMPTIONS } from '../../kernel/assumptions.ts';
import { passed } from '../../kernel/decision-trace.ts';
import { isIdentifier } from '../../kernel/identifiers.ts';
import { OauthError } from '../oauth-error.ts';
import { type Parameters, requireParameter } from '../parameters.ts';
import { readResource } from '../resource-parameter.ts';
import { readScopes } from '../scope-parameter.ts';
import type { Client } from './identify-client.ts';

/** An authorization request that passed all checks. */
export interface AuthorizationRequest {
  readonly appId: string;
  readonly redirectUri: string;
  /** Returned unchanged. */
  readonly state: string | null;
  readonly challenge: string;
  readonly scopes: readonly Scope[];
  /** True if the client named its scopes; false if it omitted them, so that `scopes` are all that are allowed. */
  readonly namesScopes: boolean;
  readonly resource: string | null;
  /** The connections that the client requests; null if it omitted them. */
  readonly connectionIds: readonly string[] | null;
}

const CONNECTIONS = ASSUMPTIONS.oauthConnectionsParameter.value;
/** A SHA-256 in base64url without padding. */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

function requireSingle({ repeated }: Parameters): void {
  if (repeated.includes('resource')) throw new OauthError('invalid_target', 'resource may be given once');
  if (repeated.length > 0) throw new OauthError('invalid_request', 'a parameter is given more than once');
}

function requireCode(parameters: Parameters): void {
  const type = requireParameter(parameters, 'response_type');
  if (type !== 'code') throw new OauthError('unsupported_response_type', 'response_type must be code');
  const mode = parameters.get('response_mode');
  if (mode !== null && mode !== 'query')
    throw new OauthError('invalid_request', 'response_mode must be query');
}

/**
 * RFC 7636: an omitted method means `plain`, which does not protect against a reader of the request.
 * [oauth.code]
 */
function readChallenge(parameters: Parameters): string {
  const challenge = requireParameter(parameters, 'code_challenge');
  if (parameters.get('code_challenge_method') !== 'S256') {
    throw new OauthError('invalid_request', 'code_challenge_method must be S256', 'challenge');
  }
  if (!CHALLENGE.test(challenge)) {
    throw new OauthError('invalid_request', 'code_challenge is not a SHA-256 in base64url', 'challenge');
  }
  passed('challenge');
  return challenge;
}

/** [oauth.grant.existing] */
function readConnectionIds(parameters: Parameters): readonly string[] | null {
  if (!parameters.has(CONNECTIONS)) {
    passed('connections', 'omitted: chosen with the consent');
    return null;
  }
  const ids = (parameters.get(CONNECTIONS) ?? '').split(' ');
  if (!ids.every(isIdentifier)) {
    throw new OauthError(
      'invalid_request',
      'the list of connections is empty or contains an invalid id',
      'connections',
    );
  }
  passed('connections');
  return [...new Set(ids)];
}

/**
 * Checks 3 to 8, in order, whose refusals are redirected: repeated parameters, response type, challenge, scope,
 * resource, connections. Throws `OauthError`.
 */
export function readRequest(
  parameters: Parameters,
  { app, redirectUri }: Client,
  resources: readonly string[],
): AuthorizationRequest {
  requireSingle(parameters);
  requireCode(parameters);
  passed('parameters');
  const challenge = readChallenge(parameters);
  const scopes = readScopes(parameters, app.scopes);
  const resource = readResource(parameters, resources);
  const connectionIds = readConnectionIds(parameters);
  const state = parameters.get('state');
  const namesScopes = parameters.get('scope') !== null;
  return { appId: app.id, redirectUri, state, challenge, scopes, namesScopes, resource, connectionIds };
}
