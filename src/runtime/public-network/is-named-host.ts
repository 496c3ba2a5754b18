import { isLoopbackHost } from '../http-server/loopback.ts';
import { keepsSecrets } from './keeps-secrets.ts';

/** Hosts that are trusted by configuration. */
export interface NamedHosts {
  /** A configured address whose host is trusted; undefined if none. */
  readonly own: string | undefined;
  /** Further hosts, with their port unless it is the default. */
  readonly others?: readonly string[] | undefined;
}

/** The hosts of these settings; null, which means any public address, if nothing is set. */
export function namedHostsOf(
  own: string | undefined,
  others: readonly string[] | undefined,
): NamedHosts | null {
  return own === undefined && others === undefined ? null : { own, others };
}

/**
 * Whether an address has a host that is trusted by configuration: that of `own`, one of `others`, or this
 * machine if `own` is on it; never with plain http to another machine.
 */
export function isNamedHost(address: string, { own, others = [] }: NamedHosts): boolean {
  const asked = new URL(address);
  if (!keepsSecrets(address)) return false;
  const ownUrl = own === undefined ? null : new URL(own);
  if (ownUrl !== null && isLoopbackHost(ownUrl.hostname) && isLoopbackHost(asked.hostname)) return true;
  return asked.host === ownUrl?.host || others.some((host) => host.toLowerCase() === asked.host);
}
