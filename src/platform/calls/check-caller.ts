import type { Request } from 'express';
import type { Scope } from '../../contract/service/scopes.ts';
import { decideAddress } from '../credentials/address-allowlist.ts';
import type { Credential } from '../credentials/credential.ts';
import { passed } from '../kernel/decision-trace.ts';
import { PlatformError } from '../kernel/platform-error.ts';

/** The name of a kind of credential in the trace. */
function nameOf({ kind }: Credential): string {
  return kind === 'api_key' ? 'key' : 'token';
}

/**
 * Throws `ip_not_allowed` if no entry of the key's allowlist contains the caller's address.
 * [errors.ip_not_allowed]
 */
export function checkAddress(credential: Credential, { ip }: Pick<Request, 'ip'>): void {
  const { ipAllowlist } = credential;
  const { allowed, entry } = decideAddress(ipAllowlist, ip);
  if (!allowed) {
    const why = `${ip ?? 'an unknown address'} matches none of the ${ipAllowlist?.length} entries of the key`;
    throw new PlatformError('ip_not_allowed', { why });
  }
  passed('address', entry === null ? `the ${nameOf(credential)} has no allowlist` : `let in by ${entry}`);
}

/**
 * Throws `insufficient_scope`. `subject` names in the trace what requires the scope. [scopes.missing]
 * [errors.insufficient_scope]
 */
export function checkScope(credential: Credential, scope: Scope, subject: string): void {
  const { scopes } = credential;
  const name = nameOf(credential);
  if (!scopes.includes(scope)) {
    const why = `the ${subject} requires ${scope}, the ${name} has ${scopes.join(', ') || 'no scope'}`;
    throw new PlatformError('insufficient_scope', { why });
  }
  passed('scope', `the ${name} has ${scope}`);
}
