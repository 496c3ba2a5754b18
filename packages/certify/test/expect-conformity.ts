import { expect } from 'vitest';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import type { ReceiverInputs } from '../src/receiver/context.ts';
import type { Tier } from '../src/receiver/receiver-check.ts';
import { runReceiverSuite } from '../src/receiver/run-receiver-suite.ts';

/** Expects that a receiver passes every check that its inputs allow; resolves with how many these are. */
export async function expectConformity(
  inputs: ReceiverInputs,
  tiers: readonly Tier[] = ['W', 'E'],
): Promise<number> {
  const { signal } = new AbortController();
  const { results, verdict } = await runReceiverSuite({ inputs, tiers, clock: systemClock, signal });
  const judged = results.filter(({ unlock }) => unlock === undefined);
  expect(judged.filter(({ result }) => result !== 'pass')).toEqual([]);
  expect(verdict).toBe('conforms');
  return judged.length;
}
