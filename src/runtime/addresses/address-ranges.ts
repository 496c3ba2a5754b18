import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

interface Range {
  readonly address: Address;
  readonly bits: number;
}

const DOTTED = /^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/;
/** Bits before the IPv4 address in its IPv6 form. */
const MAPPED_BITS = 96;
/** Parts of an IPv6 address, 16 bits each, that identify its network. */
const NETWORK_PARTS = 4;

/**
 * Four decimal parts or an IPv6 address; the short and octal forms are rejected because they are misleading.
 */
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

/** The address of a caller, without the name of the interface it arrived on. */
function parseCaller(caller: string): Address | null {
  const parsed = parseAddress(caller.replace(/%.*$/, ''));
  return parsed === null ? null : unmap({ address: parsed, bits: 128 }).address;
}

/** Whether a text is an IPv4 or IPv6 address, or a CIDR range. */
export function isAddressRange(text: string): boolean {
  return parseRange(text) !== null;
}

/** The first entry that matches a caller's address; null if there is none, or if the address is invalid. */
export function findEntry(entries: readonly string[], caller: string | undefined): string | null {
  const address = caller === undefined ? null : parseCaller(caller);
  if (address === null) return null;
  const found = entries.find((entry) => {
    const range = parseRange(entry);
    return (
      range !== null && range.address.kind() === address.kind() && address.match(range.address, range.bits)
    );
  });
  return found ?? null;
}

/**
 * What counts as one caller: an IPv4 address, or the 64-bit network of an IPv6 address, because whoever has
 * one of those addresses has all of them. A text that is not an address stands for itself.
 */
export function addressKey(caller: string): string {
  const address = parseCaller(caller);
  if (!(address instanceof ipaddr.IPv6)) return address?.toString() ?? caller;
  return `${address.parts
    .slice(0, NETWORK_PARTS)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
