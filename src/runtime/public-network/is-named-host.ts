import { isLoopbackHost } from '../http-server/loopback.ts';
import { keepsSecrets } from './keeps-secrets.ts';

/** Hosts that the settings vouch for. */
export interface NamedHosts {
  /** An address of the settings, whose host is vouched for; undefined: none. */
  readonly own: string | undefined;
  /** Further hosts, with their port where it is not the usual one. */
  readonly others?: readonly string[] | undefined;
}

/**
 * Whether an address lies at a host that the settings vouch for: that of `own`, one of `others`, or this machine where
 * `own` is on it; never by plain http on another machine.
 */
export function isNamedHost(address: string, { own, others = [] }: NamedHosts): boolean {
  const asked = new URL(address);
  if (!keepsSecrets(address)) return false;
  const ownUrl = own === undefined ? null : new URL(own);
  if (ownUrl !== null && isLoopbackHost(ownUrl.hostname) && isLoopbackHost(asked.hostname)) return true;
  return asked.host === ownUrl?.host || others.some((host) => host.toLowerCase() === asked.host);
}
