import ipaddr from 'ipaddr.js';

/** Where an address lies: on the internet, or anywhere else, this machine included. */
export type Network = 'public' | 'private';

/** All that is handed out for use on the internet; the rest of IPv6 is special, or nobody's yet. */
const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::');
/** Answered by the machine that hosts a virtual one, although the range is public. */
const HOSTS_OF_CLOUDS = ['168.63.129.16'];

/**
 * Whether an address lies on the public internet: unicast by the special-purpose registries, after an
 * IPv4-mapped address was unwrapped. IPv4-compatible (`::/96`), translated (`64:ff9b::/96`), tunnelled (6to4,
 * Teredo) and scoped addresses are not public.
 */
export function isPublicAddress(address: string): boolean {
  if (address.includes('%') || !ipaddr.isValid(address)) return false;
  const unwrapped = ipaddr.process(address);
  if (unwrapped.range() !== 'unicast') return false;
  if (unwrapped instanceof ipaddr.IPv4) return !HOSTS_OF_CLOUDS.includes(unwrapped.toString());
  return unwrapped.match(GLOBAL_UNICAST, 3);
}
