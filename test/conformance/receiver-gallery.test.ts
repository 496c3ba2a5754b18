import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createObserver } from '../../src/conformance/receiver/observer.ts';
import { PROFILES } from '../../src/conformance/receiver/profile.ts';
import { RECEIVER_CHECKS, runReceiverSuite } from '../../src/conformance/receiver/run-receiver-suite.ts';
import type { Clock } from '../../src/conformance/runner/clock.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import {
  type Mistakes,
  OLD_SECRET,
  SECRET,
  startGalleryReceiver,
  WRONG_RECEIVERS,
} from './gallery/receivers.ts';

/** A clock on which every wait ends at once. */
function impatientClock(): Clock {
  let waited = 0;
  return {
    ...systemClock,
    elapsed: () => systemClock.elapsed() + waited,
    // Pauses are short, deadlines long.
    after: (ms, run, options) => systemClock.after(ms < 1_000 ? 20 : ms, run, options),
    async sleep(ms) {
      waited += ms;
      await setImmediate();
    },
  };
}

/** Runs all checks on a receiver with these mistakes. */
async function certify(mistakes: Mistakes) {
  const receiver = await startGalleryReceiver(mistakes);
  const [profile] = Object.values(PROFILES);
  if (profile === undefined) throw new Error('there is no profile');
  try {
    return await runReceiverSuite({
      inputs: {
        url: receiver.url,
        secret: SECRET,
        oldSecret: OLD_SECRET,
        profile,
        observer: createObserver(receiver.observe),
        restart: receiver.restart,
      },
      tiers: ['W', 'E'],
      clock: impatientClock(),
      signal: new AbortController().signal,
    });
  } finally {
    await receiver.close();
  }
}

describe('a correct receiver', () => {
  it('passes every check', async () => {
    const { verdict, results } = await certify({});
    expect(results.filter(({ result }) => result !== 'pass')).toEqual([]);
    expect(results).toHaveLength(RECEIVER_CHECKS.length);
    expect(verdict).toBe('conforms');
  });
});

describe('the gallery of faulty receivers', () => {
  it.each(WRONG_RECEIVERS)('$name: fails exactly its checks', async ({ mistakes, fails }) => {
    const { results } = await certify(mistakes);
    const failed = results.filter(({ result }) => result !== 'pass');
    expect(failed.map(({ id, result }) => `${id} ${result}`).sort()).toEqual(
      fails.map((id) => `${id} fail`).sort(),
    );
    for (const { hint, repeat } of failed) expect([typeof hint, typeof repeat]).toEqual(['string', 'string']);
  });

  it('covers every check', () => {
    const failed = new Set(WRONG_RECEIVERS.flatMap(({ fails }) => fails));
    expect(RECEIVER_CHECKS.map(({ id }) => id).filter((id) => !failed.has(id))).toEqual([]);
  });
});
