import { type Bare, type Check, type Level, type Skip, withCommon } from '../runner/check.ts';
import { findMissing, type Needs } from '../runner/needs.ts';
import type { IntegrationContext, IntegrationInputs } from './context.ts';

/** How long a check may take, in milliseconds, besides what it has to wait for. */
export const TIMEOUT_MS = 150_000;

type Need = 'send' | 'pair' | 'oauth' | 'patience';

/** A check of an integration. Each has a hint. */
export interface IntegrationCheck extends Check<IntegrationContext> {
  readonly tier: 'I';
  readonly level: Exclude<Level, 'reading'>;
  readonly hint: string;
  readonly needs?: readonly Need[];
}

/** A check without what most of them have in common. */
export type BareCheck = Bare<IntegrationCheck, 'tier'>;

/** Checks that implement this section; each is a `must` unless it says otherwise. */
export const inSection = (section: string, checks: readonly BareCheck[]): readonly IntegrationCheck[] =>
  withCommon<IntegrationCheck, 'tier'>({ tier: 'I', section }, checks);

const NEEDS: Needs<Need, IntegrationInputs> = {
  send: {
    why: 'needs the integration to send',
    flag: '--send-command',
    given: ({ send }) => send !== undefined,
  },
  pair: {
    why: 'needs the integration to pair a number',
    flag: '--pair-command',
    given: ({ pair }) => pair !== undefined,
  },
  oauth: {
    why: 'is for integrations that use OAuth',
    flag: '--oauth',
    given: ({ oauth }) => oauth === true,
  },
  patience: {
    why: 'takes minutes',
    flag: '--patient',
    given: ({ patient }) => patient === true,
  },
};

/** Why a check is not asked for with these inputs; undefined if it is. */
export function findLock({ needs }: IntegrationCheck, inputs: IntegrationInputs): Skip | undefined {
  return findMissing(NEEDS, needs, inputs);
}
