import { type Check, type Level, Skip } from '../runner/check.ts';
import type { IntegrationContext, IntegrationInputs } from './context.ts';

type Need = 'send' | 'pair' | 'oauth' | 'patience';

/** A check of an integration. Each has a hint. */
export interface IntegrationCheck extends Check<IntegrationContext> {
  readonly tier: 'I';
  readonly level: Exclude<Level, 'reading'>;
  readonly hint: string;
  readonly needs?: readonly Need[];
}

const NEEDS: Readonly<
  Record<Need, { readonly why: string; readonly flag: string; given(inputs: IntegrationInputs): boolean }>
> = {
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
export function findLock(check: IntegrationCheck, inputs: IntegrationInputs): Skip | undefined {
  const missing = (check.needs ?? []).map((need) => NEEDS[need]).filter((need) => !need.given(inputs));
  if (missing.length === 0) return undefined;
  return new Skip(missing.map(({ why }) => why).join('; '), missing.map(({ flag }) => flag).join(', '));
}
