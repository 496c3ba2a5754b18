import ipaddr from 'ipaddr.js';

/** Where an address is: on the internet, or anywhere else, including this machine. */
export type Network = 'public' | 'private';

/** The part of IPv6 that is assigned for use on the internet; the rest is special or unassigned. */
const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::');
/** Served by the host of a virtual machine, although the range is public. */
const HOSTS_OF_CLOUDS = ['168.63.129.16'];

/**
 * Whether an address is on the public internet: unicast by the special-purpose registries, after unwrapping
 * an IPv4-mapped address. IPv4-compatible (`::/96`), translated (`64:ff9b::/96`), tunnelled (6to4, Teredo)
 * and scoped addresses are not public.
 */
export function isPublicAddress(address: string): boolean {
  if (address.includes('%') || !ipaddr.isValid(address)) return false;
  const unwrapped = ipaddr.process(address);
  if (unwrapped.range() !== 'unicast') return false;
  if (unwrapped instanceof ipaddr.IPv4) return !HOSTS_OF_CLOUDS.includes(unwrapped.toString());
  return unwrapped.match(GLOBAL_UNICAST, 3);
}
