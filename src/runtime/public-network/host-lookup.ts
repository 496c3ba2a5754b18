import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns/promises';
import type { Clock } from '../clock/clock.ts';
import { within } from '../clock/deadline.ts';

/** Resolves a name to all of its addresses; rejects if it does not resolve. */
export type HostLookup = (host: string) => Promise<readonly LookupAddress[]>;

/** Uses the system's resolver, including the hosts file, as a connection would. */
export const lookupHost: HostLookup = (host) => systemLookup(host, { all: true, verbatim: true });

/** Like `lookup`, but rejects after `deadlineMs`: a resolver may hang indefinitely. */
export function lookupWithin(lookup: HostLookup, clock: Clock, deadlineMs: number): HostLookup {
  return (host) =>
    within(clock, deadlineMs, lookup(host), () => new Error('the name did not resolve in time'));
}
