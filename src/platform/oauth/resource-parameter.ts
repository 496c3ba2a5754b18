import { passed } from '../kernel/decision-trace.ts';
import { OauthError } from './oauth-error.ts';
import type { Parameters } from './parameters.ts';

/**
 * The resource that tokens are requested for (RFC 8707); null: all that are allowed. It is compared as text with the
 * known identifiers, not with the `Host` of the request. The caller has refused a repeated one. Throws
 * `invalid_target`.
 */
export function readResource(parameters: Parameters, allowed: readonly string[]): string | null {
  const resource = parameters.get('resource');
  if (resource === null) {
    passed('resource', 'omitted: all that are allowed');
    return null;
  }
  if (!allowed.includes(resource)) {
    throw new OauthError('invalid_target', 'resource must be one that this server issues tokens for');
  }
  passed('resource');
  return resource;
}
