import { SCOPES, type Scope } from '../../contract/service/scopes.ts';
import { passed } from '../kernel/decision-trace.ts';
import { OauthError } from './oauth-error.ts';
import type { Parameters } from './parameters.ts';

/**
 * The requested scopes, in the order of the documentation; all allowed ones if omitted. Throws `invalid_scope` for one
 * that is unknown or not allowed (RFC 6749, 3.3): a grant never silently has fewer scopes than requested.
 */
export function readScopes(parameters: Parameters, allowed: readonly Scope[]): readonly Scope[] {
  const text = parameters.get('scope');
  if (text === null) {
    passed('scope', 'omitted: all that are allowed');
    return allowed;
  }
  const asked = new Set(text.split(' '));
  const scopes = SCOPES.filter((scope) => asked.has(scope));
  if (scopes.length < asked.size || !scopes.every((scope) => allowed.includes(scope))) {
    throw new OauthError(
      'invalid_scope',
      'scope contains one that is unknown or not allowed for this client',
    );
  }
  passed('scope');
  return scopes;
}
