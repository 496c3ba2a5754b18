import { describe, expect, it } from 'vitest';
import { readDeadLetters } from '../../../src/connector/consumers/dead-letters.ts';
import { readConsumerFigures } from '../../../src/connector/state/figures.ts';
import { dyingDatabase, type Moment } from '../../support/dying-database.ts';
import { newId } from '../support/event-fixtures.ts';
import { consumerBenchOfFile, type HandingProcess } from './consumer-bench.ts';

const bench = consumerBenchOfFile();

/** Longer than a failing change waits. */
const LATER_MS = 5 * 60_000;

/** Lets a process do everything there is, however often it has to wait. Gives up with the process. */
async function finish(process: HandingProcess): Promise<void> {
  await process.start();
  await process.settle();
  for (
    let looks = 0;
    looks < 20 && (await readConsumerFigures(bench.database))[0]?.waiting !== 0;
    looks += 1
  ) {
    await bench.clock.skip(LATER_MS);
    await process.settle();
  }
}

/** A process that dies at its statement number `at`, and another one that finishes. True when the first one died. */
async function survive(at: number, moment: Moment): Promise<boolean> {
  const dying = dyingDatabase(bench.database, at, moment);
  const first = bench.process({ attempts: 3 }, { database: dying.database });
  await finish(first).catch(() => undefined);
  await bench.bury(first);
  const { died } = dying;
  await finish(bench.process({ attempts: 3 }));
  return died;
}

describe('a process that is killed at any of its statements', { timeout: 120_000 }, () => {
  it('dispatches every change in order, and each effect happens once by its key', async () => {
    // Most of the first statements take the leases of partitions, which are alike.
    let at = 0;
    for (let died = true; died; ) {
      at += 9;
      died = false;
      for (const moment of ['before', 'after'] as const) {
        const connection = newId();
        const effects = new Map<string, string>();
        bench.answer = ({ text, key, attempt }) => {
          if (text === 'hard' && attempt < 2) throw new Error('try again');
          if (text === 'bad') throw new Error('never');
          if (!effects.has(key)) effects.set(key, String(text));
        };
        await bench.tell(connection, 'hard', 'bad', 'good');
        died = (await survive(at, moment)) || died;
        const where = `${moment} statement ${at}`;
        expect([...effects.values()], where).toEqual(['hard', 'good']);
        const letters = await readDeadLetters(bench.database, null, 10);
        expect(
          letters.map(({ change }) => 'data' in change && change.data),
          where,
        ).toEqual([expect.objectContaining({ text: 'bad' })]);
        await bench.stopAll();
      }
    }
    expect(at).toBeGreaterThan(20);
  });
});

describe('a change that ends the process', () => {
  it('is called again a second after the attempt that was written ahead', async () => {
    const connection = newId();
    await bench.tell(connection, 'deadly');
    let dying = dyingDatabase(bench.database, Number.MAX_SAFE_INTEGER, 'before');
    bench.answer = () => dying.kill();
    const live = async (skips: readonly number[]): Promise<void> => {
      dying = dyingDatabase(bench.database, Number.MAX_SAFE_INTEGER, 'before');
      const process = bench.process({ attempts: 3 }, { database: dying.database });
      await process.start();
      await process.settle().catch(() => undefined);
      for (const ms of skips) {
        seen.push(bench.calls.length);
        await bench.clock.skip(ms);
        await process.settle().catch(() => undefined);
      }
      await bench.bury(process);
    };
    const seen: number[] = [];
    await live([]);
    await live([]);
    const before = bench.calls.length;
    await live([999, 1]);
    expect([...seen, bench.calls.length]).toEqual([before, before, before + 1]);
  });

  it('counts as a failed call each time, and becomes a dead letter', async () => {
    const connection = newId();
    await bench.tell(connection, 'deadly', 'next');
    for (let life = 0; life < 4; life += 1) {
      await bench.clock.skip(LATER_MS);
      const dying = dyingDatabase(bench.database, Number.MAX_SAFE_INTEGER, 'before');
      bench.answer = ({ text }) => {
        if (text === 'deadly') dying.kill();
      };
      const process = bench.process({ attempts: 3 }, { database: dying.database });
      await process.start();
      // The first look finds what the life before left behind, and waits.
      await process.settle().catch(() => undefined);
      await bench.clock.skip(LATER_MS);
      await process.settle().catch(() => undefined);
      expect(dying.died).toBe(true);
      await bench.bury(process);
    }
    bench.answer = () => undefined;
    await finish(bench.process({ attempts: 3 }));
    // A process that dies calls nothing more, but this one only loses its database.
    const all = bench.callsOf(connection);
    const calls = all.filter((call, index) => call.startsWith('deadly') || index === all.length - 1);
    // Nothing was known of the first process when it began the call.
    expect(calls).toEqual(['deadly 1', 'deadly 1', 'deadly 2', 'deadly 3', 'next 1']);
    const [letter] = await readDeadLetters(bench.database, null, 1);
    expect(letter).toMatchObject({
      attempts: 3,
      lastError: 'ProcessEnded: the process ended while it dispatched',
    });
  });
});
