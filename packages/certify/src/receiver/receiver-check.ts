import { isLoopbackHost } from '../../../../src/runtime/http-server/loopback.ts';
import { type Bare, type Check, type Level, type Skip, withCommon } from '../runner/check.ts';
import { findMissing, type Needs } from '../runner/needs.ts';
import type { ReceiverContext, ReceiverInputs } from './context.ts';

/** W: what goes over the wire. E: what the receiver makes of it. */
export type Tier = 'W' | 'E';

/** What a check requires besides an address and a secret. */
export type Need = 'old-secret' | 'observer' | 'restart' | 'loopback';

/** A check of a receiver. Each has a hint. */
export interface ReceiverCheck extends Check<ReceiverContext> {
  readonly tier: Tier;
  readonly level: Exclude<Level, 'reading'>;
  readonly hint: string;
  readonly needs?: readonly Need[];
}

/** A check of level W, without what most of them have in common. */
export type WireCheck = Bare<ReceiverCheck, 'tier'>;

/** Checks of level W that implement this section; each is a `must` unless it says otherwise. */
export const onWire = (section: string, checks: readonly WireCheck[]): readonly ReceiverCheck[] =>
  withCommon<ReceiverCheck, 'tier'>({ tier: 'W', section }, checks);

const NEEDS: Needs<Need, ReceiverInputs> = {
  'old-secret': {
    why: 'needs the secret before the last rotation',
    flag: '--old-secret',
    given: ({ oldSecret }) => oldSecret !== undefined,
  },
  observer: {
    why: 'needs to know which messages the receiver has',
    flag: '--observe, --observe-command or --observe-sql',
    given: ({ observer }) => observer !== undefined,
  },
  restart: {
    why: 'needs to kill the receiver',
    flag: '--restart-command',
    given: ({ restart }) => restart !== undefined,
  },
  loopback: {
    why: 'is only for receivers on this machine',
    flag: 'a receiver on this machine',
    given: ({ url }) => isLoopback(url),
  },
};

/** Whether an address is of this machine. */
export function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return isLoopbackHost(hostname) || hostname.endsWith('.localhost');
}

/** Why a check is not asked for with these inputs; undefined if it is. */
export function findLock({ needs }: ReceiverCheck, inputs: ReceiverInputs): Skip | undefined {
  return findMissing(NEEDS, needs, inputs);
}
