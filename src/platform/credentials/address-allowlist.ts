import { findEntry, isAddressRange } from '../../runtime/addresses/address-ranges.ts';
import { PlatformError } from '../kernel/platform-error.ts';

/** Throws `invalid_request` when an entry is neither an address nor a CIDR range. [auth.key.allowlist] */
export function checkAllowlist(entries: readonly string[] | null): void {
  if (entries?.every(isAddressRange) === false) {
    throw new PlatformError('invalid_request', {
      field: 'ipAllowlist',
      hint: 'entries are IPv4 or IPv6 addresses or CIDR ranges',
    });
  }
}

/** Whether a caller is allowed, and by which entry; null: there is no allowlist, or no entry matches. */
export interface AddressDecision {
  readonly allowed: boolean;
  readonly entry: string | null;
}

/**
 * Checks a caller's address against a key's allowlist. A key without an allowlist allows every address; a key with
 * one refuses an address that cannot be determined. Implements `API keys`.
 */
export function decideAddress(
  entries: readonly string[] | null,
  caller: string | undefined,
): AddressDecision {
  if (entries === null) return { allowed: true, entry: null }; // [auth.key.no-allowlist]
  const entry = findEntry(entries, caller);
  return { allowed: entry !== null, entry }; // [auth.key.off-list] [auth.key.unknown-address]
}
