import ipaddr from 'ipaddr.js';

const IPV4_COMPATIBLE = ipaddr.IPv6.parse('::');

/**
 * Whether an address lies on the public internet: unicast by the special-purpose registries, after an
 * IPv4-mapped address was unwrapped, and not IPv4-compatible (`::/96`), which some systems route as IPv4.
 * Translated (`64:ff9b::/96`), tunnelled (6to4, Teredo) and scoped addresses are not public.
 * Implements `Rules per endpoint, 12-14`: a publicly reachable host.
 */
export function isPublicAddress(address: string): boolean {
  if (address.includes('%') || !ipaddr.isValid(address)) return false;
  const unwrapped = ipaddr.process(address);
  if (unwrapped.range() !== 'unicast') return false;
  return !(unwrapped instanceof ipaddr.IPv6 && unwrapped.match(IPV4_COMPATIBLE, 96));
}
