import ipaddr from 'ipaddr.js';
import { PlatformError } from '../platform-error.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

interface Range {
  readonly address: Address;
  readonly bits: number;
}

const DOTTED = /^\d{1,3}(\.\d{1,3}){3}$/;

/** Four decimal parts or an IPv6 address; the short and octal forms are refused, as they mislead people. */
function parseAddress(text: string): Address | null {
  if (text.includes('%')) return null;
  const valid = text.includes(':')
    ? ipaddr.IPv6.isValid(text)
    : DOTTED.test(text) && ipaddr.IPv4.isValid(text);
  return valid ? ipaddr.parse(text) : null;
}

function parseRange(entry: string): Range | null {
  const [text = '', bits, ...rest] = entry.split('/');
  const address = parseAddress(text);
  if (address === null || rest.length > 0) return null;
  const most = address.kind() === 'ipv4' ? 32 : 128;
  if (bits === undefined) return { address, bits: most };
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > most) return null;
  return { address, bits: Number(bits) };
}

/** An IPv4 address that came in its IPv6 form is the same address. */
function unmap(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** Throws `invalid_request` when an entry is neither an address nor a CIDR range. */
export function checkAllowlist(entries: readonly string[] | null): void {
  if (entries?.every((entry) => parseRange(entry) !== null) === false) {
    throw new PlatformError('invalid_request', {
      field: 'ipAllowlist',
      hint: 'entries are IPv4 or IPv6 addresses or CIDR ranges',
    });
  }
}

/**
 * Whether a caller's address is on a key's allowlist. A key without one takes every address; with one, an
 * address that cannot be determined is refused. Implements `API keys`.
 */
export function allowsAddress(entries: readonly string[] | null, caller: string | undefined): boolean {
  if (entries === null) return true;
  const parsed = caller === undefined ? null : parseAddress(caller.replace(/%.*$/, ''));
  if (parsed === null) return false;
  const address = unmap(parsed);
  return entries.some((entry) => {
    const range = parseRange(entry);
    if (range === null || range.address.kind() !== address.kind()) return false;
    return address.match(range.address, range.bits);
  });
}
