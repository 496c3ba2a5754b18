import { createServer, type Server } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/runtime/clock/clock.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { signWrongly } from '../../../src/sandbox/deliveries/sign-wrongly.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { serve } from '../../../test/support/serve.ts';
import type { ReceiverInputs } from '../src/receiver/context.ts';
import { PROFILES } from '../src/receiver/profile.ts';
import type { Tier } from '../src/receiver/receiver-check.ts';
import { RECEIVER_CHECKS, runReceiverSuite } from '../src/receiver/run-receiver-suite.ts';
import { createObserver } from '../src/runner/observer.ts';
import { OLD_SECRET, SECRET, startGalleryReceiver, type Ways } from './gallery/receiver.ts';
import { RIGHT_RECEIVERS, WRONG_RECEIVERS } from './gallery/receivers.ts';
import { unfailed } from './gallery/wrong.ts';

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

const TIERS: readonly Tier[] = ['W', 'E'];
const tierOf = (id: string): Tier | undefined => RECEIVER_CHECKS.find((check) => check.id === id)?.tier;

/** Runs all checks on a receiver with these ways. */
async function certify(
  ways: Ways,
  inputs: Partial<ReceiverInputs> = { connectionId: 'ccertify' },
  tiers: readonly Tier[] = ['W', 'E'],
) {
  const clock = impatientClock();
  const receiver = await startGalleryReceiver(ways, () => clock.elapsed());
  try {
    return await runReceiverSuite({
      inputs: {
        url: receiver.url,
        secret: SECRET,
        oldSecret: OLD_SECRET,
        profile: PROFILES.messaging,
        observer: createObserver(receiver.observe),
        restart: receiver.restart,
        signWrongly,
        ...inputs,
      },
      tiers,
      clock,
      signal: new AbortController().signal,
    });
  } finally {
    await receiver.close();
  }
}

/** The results of these checks of wire behavior against a server. */
async function judge(server: Server, clock: Clock, only: readonly string[]) {
  const { url, close } = await serve(server);
  const inputs = { url: `${url}/webhooks/`, secret: SECRET, profile: PROFILES.messaging };
  const { signal } = new AbortController();
  const { results } = await runReceiverSuite({ inputs, tiers: ['W'], clock, only, signal });
  await close();
  return results;
}

describe('the gallery of correct receivers', () => {
  it.each(RIGHT_RECEIVERS)('$name: passes every check', async ({ ways, inputs, remarks = [] }) => {
    const { verdict, results, notRun } = await certify(ways, inputs);
    const others = results.filter(({ result }) => result !== 'pass');
    expect(others.map(({ id, result, actual }) => [`${id} ${result}`, actual])).toEqual(
      remarks.map((remark) => [remark, others[0]?.actual]),
    );
    expect(notRun).toEqual([]);
    expect(results).toHaveLength(RECEIVER_CHECKS.length);
    expect(verdict).toBe('conforms');
  });

  it('gives each answer its 10 s, however many a check waits for', async () => {
    const clock = new ManualClock();
    const server = createServer(async (request, response) => {
      await request.resume().toArray();
      // [delivery.attempts]
      await clock.advance(9_000);
      response.writeHead(204).end();
    });
    const only = ['delivery.repeated', 'delivery.out-of-order', 'connection.kept'];
    const results = await judge(server, clock, only);
    expect(results.map(({ id, result }) => `${id} ${result}`)).toEqual([
      'delivery.repeated pass',
      'delivery.out-of-order pass',
      'connection.kept pass',
    ]);
  });

  it.each([2, 3])('keeps the age of a signature while the receiver takes %i in a minute', async (most) => {
    const clock = new ManualClock();
    let [began, taken] = [clock.elapsed(), 0];
    const server = createServer(async (request, response) => {
      await request.resume().toArray();
      if (clock.elapsed() - began > 60_000) [began, taken] = [clock.elapsed(), 0];
      taken += 1;
      const age = Math.abs(clock.now() - Number(request.headers['x-service-timestamp']));
      const limited = { 'retry-after': '61' };
      if (taken > most) response.writeHead(429, limited).end();
      else response.writeHead(age <= 300_000 ? 200 : 401).end();
    });
    const moved = { ...systemClock, now: () => clock.now(), sleep: (ms: number) => clock.advance(ms) };
    const only = ['timestamp.stale', 'timestamp.recent', 'timestamp.future'];
    const results = await judge(server, moved, only);
    expect(results.filter(({ result }) => result !== 'pass')).toEqual([]);
  });

  it('says which option a receiver needs that ignores unknown connections', async () => {
    const { verdict, results } = await certify({ concerns: () => false }, {});
    const [first] = results.filter(({ result }) => result !== 'pass');
    expect(first).toMatchObject({ id: 'effects.stored', result: 'skip' });
    expect(first?.reason).toContain('pass one that it knows with --connection');
    expect(verdict).toBe('unknown');
  });
});

describe('the gallery of faulty receivers', () => {
  it.each(Object.entries(WRONG_RECEIVERS))(
    '%s It fails exactly its checks, and is told why',
    async (_, wrong) => {
      // The answers of those with wrong effects are those of a correct receiver.
      const judged = TIERS.filter((tier) => wrong.fails.some((id) => tierOf(id) === tier));
      const { results, verdict } = await certify(wrong.ways, undefined, judged);
      const failed = results.filter(({ result }) => result === 'fail' || result === 'harness');
      expect(failed.map(({ id, result }) => `${id} ${result}`).sort()).toEqual(
        wrong.fails.map((id) => `${id} fail`).sort(),
      );
      for (const { id, hint, repeat } of failed) {
        expect(hint, id).toMatch(wrong.told);
        expect(typeof repeat).toBe('string');
      }
      // What could not be judged is named, and a violated `must` is a violation.
      expect(verdict).toBe(failed.some(({ level }) => level === 'must') ? 'violates' : 'conforms');
    },
  );

  it('covers every check', () => {
    const remarked = RIGHT_RECEIVERS.flatMap(({ remarks = [] }) =>
      remarks.map((remark) => remark.split(' ')[0]),
    );
    expect(unfailed(RECEIVER_CHECKS, WRONG_RECEIVERS).filter((id) => !remarked.includes(id))).toEqual([]);
  });
});
