import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns';
import type { Clock } from '../clock/clock.ts';

/** Resolves a name to all of its addresses; rejects if it does not resolve. */
export type HostLookup = (host: string) => Promise<readonly LookupAddress[]>;

/** Uses the system's resolver, including the hosts file, as a connection would. */
export const lookupHost: HostLookup = (host) =>
  new Promise((resolve, reject) => {
    systemLookup(host, { all: true, verbatim: true }, (error, addresses) => {
      if (error === null) resolve(addresses);
      else reject(error);
    });
  });

/** Like `lookup`, but rejects after `deadlineMs`: a resolver may hang indefinitely. */
export function lookupWithin(lookup: HostLookup, clock: Clock, deadlineMs: number): HostLookup {
  return (host) =>
    new Promise((resolve, reject) => {
      const cancel = clock.after(deadlineMs, () => reject(new Error('the name did not resolve in time')));
      lookup(host).then(resolve, reject).finally(cancel);
    });
}
