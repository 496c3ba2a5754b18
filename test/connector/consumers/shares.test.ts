import { describe, expect, it, onTestFinished } from 'vitest';
import { readConsumers } from '../../../src/connector/consumers/consumer-store.ts';
import { partitionOf } from '../../../src/connector/consumers/partition-of.ts';
import { createShares } from '../../../src/connector/consumers/shares.ts';
import { createPresence, revokeLeases } from '../../../src/connector/work/presence.ts';
import type { Change } from '../../../src/contract/connector/changes.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { aroundQueries } from '../../support/replace-calls.ts';
import { newId, silentLogger } from '../support/event-fixtures.ts';
import { consumerBenchOfFile, type HandingProcess } from './consumer-bench.ts';

const bench = consumerBenchOfFile();

/** A connection of this partition. */
function connectionIn(partition: number): string {
  for (let id = newId(); ; id = newId()) if (partitionOf(id) === partition) return id;
}

/** How many partitions each process holds, in the order of the processes. */
async function sharesOf(...processes: readonly HandingProcess[]): Promise<readonly number[]> {
  const rows = await bench.database.query<{ owner: string }>(
    "select owner from connector.leases where name like 'consumer:handler/%'",
  );
  return processes.map(({ presence }) => rows.filter(({ owner }) => owner === presence.id).length);
}

/** A database whose next matching statement has its effect, and whose answer then waits. */
function holdingAnswer(
  database: Database,
  matches: (text: string, params: readonly unknown[]) => boolean,
): { readonly database: Database; readonly reached: Promise<void>; goOn(): void } {
  const [reached, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = aroundQueries(database, async (text, run, params) => {
    const rows = await run();
    if (matches(text, params)) {
      reached.resolve();
      await goOn.promise;
    }
    return rows;
  });
  return { database: holding, reached: reached.promise, goOn: goOn.resolve };
}

describe('a process that stalls', () => {
  it('calls nothing that another process has taken meanwhile, and goes on with what it still has', async () => {
    const connections = Array.from({ length: 4 }, newId);
    const clock = new ManualClock();
    const calls: (readonly unknown[])[] = [];
    const record = (process: string, { connectionId, data }: Change): void =>
      void calls.push([process, connectionId, 'text' in data ? data.text : null]);
    for (const connection of connections) await bench.tell(connection, '1', '2', '3');
    const held = Promise.withResolvers<void>();
    const onChange = async (change: Change): Promise<void> => {
      record('stalled', change);
      await held.promise;
    };
    const stalled = await bench.running({ onChange }, { clock });
    await expect.poll(() => calls.length).toBe(4);
    // It has read all of them, and nothing of it runs any more.
    const other = await bench.running({ onChange: (change) => record('other', change) });
    for (let beats = 0; beats < 10; beats += 1) {
      await bench.clock.advance(500);
      await other.presence.beat();
    }
    await other.settle();
    const before = calls.length;
    expect(before).toBe(4 + 12);
    held.resolve();
    // What was in progress ends before its timers run.
    await clock.skip(6_000);
    await stalled.settle();
    expect(calls.slice(before)).toEqual([]);
    // It takes part again, with its share.
    await other.settle();
    await stalled.settle();
    expect(await sharesOf(stalled, other)).toEqual([8, 8]);
  });
});

describe('the partitions of a consumer', () => {
  it('are divided so that no process has more than its share, rounded up, while processes join and leave', async () => {
    const first = await bench.running();
    expect(await sharesOf(first)).toEqual([16]);
    const second = await bench.running();
    await first.settle();
    await second.settle();
    expect(await sharesOf(first, second)).toEqual([8, 8]);
    const third = await bench.running();
    for (const process of [first, second, third]) await process.settle();
    expect(await sharesOf(first, second, third)).toEqual([6, 6, 4]);
    await first.close();
    await second.settle();
    await third.settle();
    expect(await sharesOf(second, third)).toEqual([8, 8]);
    await second.close();
    await third.settle();
    expect(await sharesOf(third)).toEqual([16]);
  });

  it('are handed over exactly: nothing is repeated or left out', async () => {
    const connections = Array.from({ length: 16 }, (_, partition) => connectionIn(partition));
    const first = await bench.running();
    for (const connection of connections) await bench.tell(connection, '1');
    await first.settle();
    const second = await bench.running();
    for (const connection of connections) await bench.tell(connection, '2');
    await first.settle();
    await second.settle();
    await first.close();
    for (const connection of connections) await bench.tell(connection, '3');
    await second.settle();
    for (const connection of connections) {
      expect(bench.callsOf(connection)).toEqual(['1 1', '2 1', '3 1']);
    }
  });

  it('miss nothing that a reader has passed before the last of them was taken', async () => {
    const [early, late, read] = [connectionIn(0), connectionIn(1), connectionIn(15)];
    const first = await bench.running();
    const held = holdingAnswer(
      bench.database,
      (text, params) => text.includes('SET open = true') && params[1] === 1,
    );
    const second = await bench.running({}, { database: held.database });
    await first.settle();
    await second.settle();
    expect(await sharesOf(first, second)).toEqual([8, 8]);
    await first.close();
    // The second process reads past it: the partition has no owner.
    await bench.tell(early, 'left');
    await bench.tell(late, 'left');
    await bench.tell(read, '1');
    await expect.poll(() => bench.callsOf(read)).toEqual(['1 1']);
    const settled = second.settle();
    await held.reached;
    // It has taken some partitions, and still reads for those that it had before.
    await bench.tell(read, '2');
    await expect.poll(() => bench.callsOf(read)).toContainEqual('2 1');
    held.goOn();
    await settled;
    expect(bench.callsOf(early)).toEqual(['left 1']);
    expect(bench.callsOf(late)).toEqual(['left 1']);
  });

  it('are given back by a process that stops while it takes them, although one could not be taken', async () => {
    const held = holdingAnswer(bench.database, (text) => text.includes('from "connector"."parked"'));
    const database = aroundQueries(held.database, (_text, run, params) => {
      if (params[0] === 'consumer:handler/0') throw new Error('no');
      return run();
    });
    const process = bench.process({}, { database });
    const started = process.start();
    await held.reached;
    await bench.clock.advance(0);
    const closed = process.close();
    await bench.clock.advance(0);
    held.goOn();
    await Promise.all([started, closed]);
    expect(await bench.database.query('select from connector.consumer_places where open')).toEqual([]);
  });

  it('that a write finds lost end their calls, for which no stop waits', async () => {
    const [quick, slow] = [connectionIn(3), connectionIn(3)];
    const called = Promise.withResolvers<AbortSignal>();
    bench.answer = async ({ connectionId }, { signal }) => {
      if (connectionId === quick) return;
      called.resolve(signal);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    };
    const held = holdingAnswer(bench.database, (text) => text.includes('INTO connector.consumer_places'));
    const process = await bench.running({}, { database: held.database });
    await bench.tell(quick, '1');
    await bench.tell(slow, '1');
    const signal = await called.promise;
    // A replay does it.
    await revokeLeases(bench.database, ['consumer:handler/3']);
    const closed = process.close();
    await bench.clock.advance(500);
    await held.reached;
    expect(signal.aborted).toBe(false);
    held.goOn();
    await closed;
    expect(signal.aborted).toBe(true);
  });

  it('keep out what was written under a lease that was lost and taken again since', async () => {
    const { database, clock } = bench;
    const presence = createPresence({ database, clock, logger: silentLogger, works: true });
    onTestFinished(() => presence.stop());
    await presence.start();
    const [row] = await readConsumers(database);
    if (row === undefined) throw new Error('there is no consumer');
    // One partition cannot be taken at first; the others are, and the next turn takes it.
    let isAway = true;
    const failing = aroundQueries(database, async (_, run, params) => {
      if (isAway && params[1] === 3) throw new Error('away');
      return await run();
    });
    const shares = createShares({
      ...{ database: failing, presence, row, limit: 1, quiet: false, isDue: () => true },
      ...{ onReady: () => undefined, onFreed: () => undefined, giveBack: () => Promise.resolve() },
    });
    await expect(shares.balance()).rejects.toThrow('away');
    expect(shares.held).toHaveLength(15);
    isAway = false;
    await shares.balance();
    const [before] = shares.held;
    const progress = before?.partition.plan({ now: 0, elapsed: 0, final: true });
    if (before === undefined || !progress) throw new Error('nothing is to be written');
    await database.query('delete from connector.processes where id = $1', [presence.id]);
    await presence.beat();
    await expect.poll(() => shares.balance().then(() => shares.held.length)).toBe(16);
    const after = shares.of(progress.partition);
    const placeId = after?.placeId;
    shares.written([{ progress, lease: before.lease, placeId: before.placeId, open: true }], {
      held: new Map([[progress.partition, -1]]),
      ended: new Set(),
      revisions: new Map(),
    });
    expect(shares.of(progress.partition)).toBe(after);
    expect(after?.placeId).toBe(placeId);
    await shares.close();
  });
});
