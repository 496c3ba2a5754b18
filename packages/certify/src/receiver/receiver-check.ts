import { isLoopbackHost } from '../../../../src/runtime/http-server/loopback.ts';
import { type Bare, type Check, type Level, type Skip, withCommon } from '../runner/check.ts';
import { findMissing, type Needs } from '../runner/needs.ts';
import type { Delivery, ReceiverContext, ReceiverInputs } from './context.ts';

/** W: what goes over the wire. E: what the receiver makes of it. */
export type Tier = 'W' | 'E';

/** What a check requires besides an address and a secret. */
export type Need = 'old-secret' | 'observer' | 'restart' | 'storage' | 'batch' | 'loopback';

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

/** Checks that make deliveries one after the other, each of a message unless a body is given. */
const each =
  (end: 'accepts' | 'refuses') =>
  (
    id: string,
    rule: string,
    hint: string,
    waysOf: (context: ReceiverContext) => readonly Partial<Delivery>[],
    more: Partial<WireCheck> = {},
  ): WireCheck => ({
    ...{ id, rule, hint, ...more },
    async run(context) {
      for (const way of waysOf(context)) await context[end]({ body: context.events.received(), ...way });
    },
  });
/** A check whose deliveries are answered with a 2xx. */
export const accepted = each('accepts');
/** A check whose deliveries are not answered with a 2xx. */
export const refused = each('refuses');

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
  storage: {
    why: 'needs to stop what the receiver stores in',
    flag: '--storage-command',
    given: ({ storage }) => storage !== undefined,
  },
  batch: {
    why: 'is for consumers that receive lists',
    flag: '--batch',
    given: ({ batch }) => batch !== undefined,
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
