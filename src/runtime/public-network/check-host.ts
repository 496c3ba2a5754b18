import { isIP, type LookupFunction } from 'node:net';
import type { HostLookup } from './host-lookup.ts';
import { isPublicAddress, type Network } from './public-address.ts';

/** A host resolves to an address of a network that is not allowed. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
  readonly code = 'ADDRESS_REFUSED';

  constructor(network: Network = 'public') {
    super(`the host resolves to an address that is not ${network}`);
  }
}

/** A host to open a socket to. With `lookup`, the socket connects to the addresses that were checked. */
export interface CheckedHost {
  readonly host: string;
  readonly lookup?: LookupFunction;
}

/**
 * Checks that every address of a host is on the given network, and pins the addresses: a second resolution
 * could return others. `host` has no brackets and no trailing dot. Throws `AddressRefused`, or what `lookup`
 * throws.
 */
export async function checkHost(
  host: string,
  lookup: HostLookup,
  network: Network = 'public',
): Promise<CheckedHost> {
  const isOn = (address: string): boolean => isPublicAddress(address) === (network === 'public');
  // A custom lookup is not called for literal addresses, so those are checked here.
  if (isIP(host) !== 0) {
    if (!isOn(host)) throw new AddressRefused(network);
    return { host };
  }
  const addresses = await lookup(host);
  if (addresses.length === 0 || !addresses.every(({ address }) => isOn(address))) {
    throw new AddressRefused(network);
  }
  const answer: LookupFunction = (_host, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };
  return { host, lookup: answer };
}

/**
 * The network of all addresses of a host, which has the same format as for `checkHost`. Throws
 * `AddressRefused` if they are on both networks, or what `lookup` throws.
 */
export async function findNetwork(host: string, lookup: HostLookup): Promise<Network> {
  const addresses = isIP(host) === 0 ? (await lookup(host)).map(({ address }) => address) : [host];
  const network = addresses.some(isPublicAddress) ? 'public' : 'private';
  if (!addresses.every((address) => isPublicAddress(address) === (network === 'public'))) {
    throw new AddressRefused(network);
  }
  return network;
}
