import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { PROFILES } from '../src/receiver/profile.ts';
import type { Tier } from '../src/receiver/receiver-check.ts';
import { checksOf, runReceiverSuite } from '../src/receiver/run-receiver-suite.ts';
import { createObserver } from '../src/runner/observer.ts';
import { startConsumer, WRONG_CONSUMERS } from './gallery/consumers.ts';
import { SECRET } from './gallery/receiver.ts';
import { unfailed } from './gallery/wrong.ts';

const profile = PROFILES['standard-webhooks'];
const CHECKS = checksOf(profile);
const TIERS: readonly Tier[] = ['W', 'E'];

/** Runs the checks of these levels on a consumer with these ways, on a clock on which no wait takes time. */
async function certify(ways: Parameters<typeof startConsumer>[0], tiers = TIERS, connectionId?: string) {
  let waited = 0;
  let over = false;
  const answers = new Set<() => void>();
  const clock = {
    ...systemClock,
    elapsed: () => systemClock.elapsed() + waited,
    after(ms: number, run: () => void, options?: { readonly keepAlive?: boolean }) {
      const cancel = systemClock.after(ms < 1_000 ? 20 : ms, run, options);
      if (ms !== 30_000) return cancel;
      answers.add(run);
      return () => {
        answers.delete(run);
        cancel();
      };
    },
    async sleep(ms: number) {
      waited += ms;
      await setImmediate();
    },
  };
  const consumer = await startConsumer(ways, () => {
    for (const isLate of over ? [] : answers) isLate();
    over = true;
  });
  const { url, restart, storage } = consumer;
  const observer = createObserver(consumer.observe);
  try {
    return await runReceiverSuite({
      inputs: { url, secret: SECRET, profile, observer, restart, storage, batch: 100, connectionId },
      ...{ tiers, clock, signal: new AbortController().signal },
    });
  } finally {
    await consumer.close();
  }
}

describe('the consumers of the gallery', () => {
  it('pass every check if they are correct', async () => {
    const { results, verdict } = await certify({});
    expect(results.filter(({ result }) => result !== 'pass')).toEqual([]);
    expect(results).toHaveLength(CHECKS.length);
    expect(verdict).toBe('conforms');
  });

  it.each(Object.entries(WRONG_CONSUMERS))(
    '%s It fails exactly its checks, and is told why',
    async (_, { ways, told, fails }) => {
      // The answers of those with wrong effects are those of a correct one.
      const tiers = TIERS.filter((tier) => CHECKS.find(({ id }) => id === fails[0])?.tier === tier);
      const { results } = await certify(ways, tiers, 'ccertify');
      const failed = results.filter(({ result }) => result === 'fail' || result === 'harness');
      expect(failed.map(({ id, result }) => [id, result])).toEqual(fails.map((id) => [id, 'fail']));
      for (const { hint } of failed) expect(hint).toMatch(told);
    },
  );

  it('fail every check', () => {
    expect(unfailed(CHECKS, WRONG_CONSUMERS)).toEqual([]);
  });
});
