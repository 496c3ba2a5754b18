import ipaddr from 'ipaddr.js';
import { PlatformError } from '../platform-error.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

interface Range {
  readonly address: Address;
  readonly bits: number;
}

const DOTTED = /^\d{1,3}(\.\d{1,3}){3}$/;
/** Bits before the IPv4 address in its IPv6 form. */
const MAPPED_BITS = 96;

/** Four decimal parts or an IPv6 address; the short and octal forms are refused, as they mislead people. */
function parseAddress(text: string): Address | null {
  if (text.includes('%')) return null;
  const valid = text.includes(':')
    ? ipaddr.IPv6.isValid(text)
    : DOTTED.test(text) && ipaddr.IPv4.isValid(text);
  return valid ? ipaddr.parse(text) : null;
}

/** An IPv4 address or range in its IPv6 form is the same address or range. */
function unmap({ address, bits }: Range): Range {
  if (!(address instanceof ipaddr.IPv6) || !address.isIPv4MappedAddress() || bits < MAPPED_BITS) {
    return { address, bits };
  }
  return { address: address.toIPv4Address(), bits: bits - MAPPED_BITS };
}

function parseRange(entry: string): Range | null {
  const [text = '', bits, ...rest] = entry.split('/');
  const address = parseAddress(text);
  if (address === null || rest.length > 0) return null;
  const most = address.kind() === 'ipv4' ? 32 : 128;
  if (bits === undefined) return unmap({ address, bits: most });
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > most) return null;
  return unmap({ address, bits: Number(bits) });
}

/** Whether a text is an IPv4 or IPv6 address, or a CIDR range of them. */
export function isAddressRange(text: string): boolean {
  return parseRange(text) !== null;
}

/** Throws `invalid_request` when an entry is neither an address nor a CIDR range. */
export function checkAllowlist(entries: readonly string[] | null): void {
  if (entries?.every(isAddressRange) === false) {
    throw new PlatformError('invalid_request', {
      field: 'ipAllowlist',
      hint: 'entries are IPv4 or IPv6 addresses or CIDR ranges',
    });
  }
}

/** The first entry that a caller's address is on; null when there is none, or when the address is none. */
export function findEntry(entries: readonly string[], caller: string | undefined): string | null {
  const parsed = caller === undefined ? null : parseAddress(caller.replace(/%.*$/, ''));
  if (parsed === null) return null;
  const { address } = unmap({ address: parsed, bits: 128 });
  const found = entries.find((entry) => {
    const range = parseRange(entry);
    return (
      range !== null && range.address.kind() === address.kind() && address.match(range.address, range.bits)
    );
  });
  return found ?? null;
}

/** Whether a caller is let in, and by which entry of the allowlist; null: there is none, or none fits. */
export interface AddressDecision {
  readonly allowed: boolean;
  readonly entry: string | null;
}

/**
 * Whether a caller's address is on a key's allowlist. A key without one takes every address; with one, an
 * address that cannot be determined is refused. Implements `API keys`.
 */
export function decideAddress(
  entries: readonly string[] | null,
  caller: string | undefined,
): AddressDecision {
  if (entries === null) return { allowed: true, entry: null };
  const entry = findEntry(entries, caller);
  return { allowed: entry !== null, entry };
}
