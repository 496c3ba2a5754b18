import { isIP, type LookupFunction } from 'node:net';
import type { HostLookup } from './host-lookup.ts';
import { isPublicAddress } from './public-address.ts';

/** A host leads to an address that is not public. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
  readonly code = 'ADDRESS_REFUSED';

  constructor() {
    super('the host leads to an address that is not public');
  }
}

/** A host to open a socket to. With `lookup` the socket goes to the addresses that were checked. */
export interface CheckedHost {
  readonly host: string;
  readonly lookup?: LookupFunction;
}

/**
 * Checks that every address of a host is public, and pins them: a second resolution could answer otherwise.
 * `host` has no brackets and no trailing dot. Throws `AddressRefused`, or what `lookup` throws.
 */
export async function checkHost(host: string, lookup: HostLookup): Promise<CheckedHost> {
  // A custom lookup is not asked about literals, so those are checked here.
  if (isIP(host) !== 0) {
    if (!isPublicAddress(host)) throw new AddressRefused();
    return { host };
  }
  const addresses = await lookup(host);
  if (addresses.length === 0 || !addresses.every(({ address }) => isPublicAddress(address))) {
    throw new AddressRefused();
  }
  const answer: LookupFunction = (_host, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };
  return { host, lookup: answer };
}
