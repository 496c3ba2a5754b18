import { describe, expect, it, onTestFinished } from 'vitest';
import type { ConsumerOptions } from '../../../src/connector/consumers/consumer.ts';
import {
  addConsumer,
  type ConsumerRow,
  readConsumers,
} from '../../../src/connector/consumers/consumer-store.ts';
import { readDeadLetters, replayDeadLetter } from '../../../src/connector/consumers/dead-letters.ts';
import { deleteConsumer, sealConsumer } from '../../../src/connector/consumers/manage-consumers.ts';
import type { CallEnd, Sink, SinkCall } from '../../../src/connector/consumers/sinks/sink.ts';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { deleteOldChanges } from '../../../src/connector/db/delete-old-changes.ts';
import { readConsumerFigures } from '../../../src/connector/state/figures.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { createKeyRing, generateSealingKey } from '../../../src/runtime/sealing/key-ring.ts';
import { aroundQueries } from '../../support/replace-calls.ts';
import { newId, received } from '../support/event-fixtures.ts';
import { consumerBenchOfFile } from './consumer-bench.ts';

const bench = consumerBenchOfFile();

const TAKEN: CallEnd = { kind: 'taken' };

/** Texts of a call. */
const textsOf = ({ changes }: SinkCall): readonly unknown[] =>
  changes.map(({ change }) => (change.type === 'message.created' ? change.data.text : change.type));

/** A process that calls one consumer, named `crm`, by `call`. It begins after everything there is. */
async function consumerOf(
  call: Sink['call'],
  columns: Partial<ConsumerRow> = {},
  database: Database = bench.database,
) {
  const { lastSeq } = await bench.feed.position();
  await addConsumer(
    bench.database,
    {
      name: 'crm',
      kind: 'http',
      settings: { url: 'https://crm.example', ordered: true },
      createdAt: 0,
      ...columns,
    },
    lastSeq,
  );
  onTestFinished(async () => void (await deleteConsumer(bench.database, 'crm')));
  const open = () => consumerWith(call, { database });
  return { open, consumer: await open() };
}

/** A process that calls the consumer `crm` by `call`, where it is. */
async function consumerWith(call: Sink['call'], options: Partial<ConsumerOptions>) {
  const row = (await readConsumers(bench.database)).find(({ name }) => name === 'crm');
  if (row === undefined) throw new Error('there is no consumer');
  const consumer = await bench.consumer(row, { call }, options);
  await consumer.check();
  return consumer;
}

const figures = async () => (await readConsumerFigures(bench.database)).find(({ name }) => name === 'crm');

/** Commits so many messages of a connection at once. */
async function addBacklog(connectionId: string, size: number): Promise<void> {
  const messages = Array.from({ length: size }, () => received(connectionId, newId()));
  await commitBatch(bench.database, { now: bench.clock.now(), messages });
}

describe('a consumer with a filter', () => {
  it('receives what passes all of it, and its place moves past the rest', async () => {
    const [wanted, other] = [newId(), newId()];
    const got: unknown[] = [];
    const { consumer } = await consumerOf(
      async (call) => {
        got.push(...textsOf(call));
        return TAKEN;
      },
      { filter: { types: ['message.created'], directions: ['incoming'], connectionIds: [wanted] } },
    );
    await bench.tell(wanted, 'in');
    await bench.tell(other, 'of another connection');
    const outgoing = received(wanted, newId(), { direction: 'outgoing', text: 'out' });
    await commitBatch(bench.database, { now: bench.clock.now(), messages: [outgoing] });
    await bench.feed.settle();
    await consumer.settle();
    expect(got).toEqual(['in']);
    expect(await figures()).toMatchObject({ waiting: 0 });
    await consumer.close();
  });

  it('does not lag behind a feed of which nothing passes', async () => {
    const { consumer } = await consumerOf(async () => TAKEN, { filter: { connectionIds: [newId()] } });
    await bench.tell(newId(), 'a', 'b', 'c');
    await expect
      .poll(async () => {
        await consumer.check();
        return (await figures())?.waiting;
      })
      .toBe(0);
    await consumer.close();
  });
});

describe('a consumer whose next changes were deleted from the feed', () => {
  it.each(['before it reads', 'while it reads'])('continues with those that are kept: %s', async (when) => {
    const got: unknown[] = [];
    const take: Sink['call'] = async (call) => {
      got.push(...textsOf(call));
      return TAKEN;
    };
    const { consumer } = await consumerOf(take);
    await consumer.close();
    await bench.tell(newId(), 'deleted');
    await bench.clock.advance(1_000);
    const before = bench.clock.now();
    await bench.tell(newId(), 'kept');
    const remove = async () =>
      void (await deleteOldChanges(bench.database, {
        before,
        needed: async () => null,
        stopping: new AbortController().signal,
      }));
    if (when === 'before it reads') await remove();
    let reads = 0;
    const feed: typeof bench.feed = {
      ...bench.feed,
      async subscribe(...reader) {
        reads += 1;
        if (reads === 1) await remove();
        await bench.feed.subscribe(...reader);
      },
    };
    const next = await consumerWith(take, { feed });
    await expect
      .poll(async () => {
        await next.check();
        return got;
      })
      .toEqual(['kept']);
    await next.close();
  });

  it('forgets those of parked connections, and calls what is left', async () => {
    let end: CallEnd = { kind: 'failed', error: new Error('no') };
    const got: unknown[] = [];
    const take: Sink['call'] = async (call) => {
      if (end.kind === 'taken') got.push(...textsOf(call));
      return end;
    };
    const { consumer } = await consumerOf(take);
    const [left, forgotten] = [newId(), newId()];
    for (const connection of [left, forgotten]) await bench.tell(connection, 'deleted');
    await bench.clock.advance(1_000);
    const before = bench.clock.now();
    await bench.tell(left, 'kept');
    await consumer.settle();
    await consumer.close();
    const entries = () => bench.database.query('SELECT key FROM connector.parked_entries ORDER BY seq');
    expect(await entries()).toEqual([left, forgotten, left].map((key) => ({ key })));
    const stopping = new AbortController().signal;
    await deleteOldChanges(bench.database, { before, needed: async () => null, stopping });
    // As a version left it that knew of no such entry.
    await bench.database.query('DELETE FROM connector.parked WHERE key = $1', [forgotten]);
    end = TAKEN;
    const next = await consumerWith(take, {});
    expect(await entries()).toEqual([{ key: left }]);
    await bench.pass(60_000, next);
    expect(got).toEqual(['kept']);
    expect(await entries()).toEqual([]);
    await next.close();
  });
});

describe('a batch', () => {
  it('of one connection is called in order, and one by one after it has failed', async () => {
    const connection = newId();
    const calls: (readonly [number, readonly unknown[]])[] = [];
    const begun = Promise.withResolvers<void>();
    const { consumer } = await consumerOf(
      async (call) => {
        calls.push([call.attempt, textsOf(call)]);
        if (calls.length === 1) await begun.promise;
        return textsOf(call).includes('bad') && call.attempt === 1
          ? { kind: 'failed', error: new Error('no') }
          : TAKEN;
      },
      { batch: 3 },
    );
    await bench.tell(connection, '1', '2', 'bad', '4', '5');
    begun.resolve();
    await consumer.settle();
    await bench.pass(1_000, consumer);
    await bench.pass(2_000, consumer);
    const flat = calls.flatMap(([, texts]) => texts);
    expect([...new Set(flat)]).toEqual(['1', '2', 'bad', '4', '5']);
    expect(calls.every(([, texts]) => texts.length <= 3)).toBe(true);
    const failed = calls.findIndex(([, texts]) => texts.includes('bad'));
    expect(calls[failed]?.[1].length).toBeGreaterThan(1);
    // Its first change has a second attempt, alone.
    expect(calls[failed + 1]).toEqual([2, [calls[failed]?.[1][0]]]);
    expect(await figures()).toMatchObject({ waiting: 0, parked: 0 });
    await consumer.close();
  });

  it.each([true, false])('is the last attempt of none of its changes (ordered: %s)', async (ordered) => {
    const got: unknown[] = [];
    const { consumer } = await consumerOf(
      async (call) => {
        if (textsOf(call).includes('bad')) return { kind: 'failed', error: new Error('no') };
        got.push(...textsOf(call));
        return TAKEN;
      },
      { batch: 9, attempts: 1, settings: { url: 'https://crm.example', ordered } },
    );
    await bench.tell(newId(), '1', '2', 'bad', '4');
    for (let looks = 0; looks < 5; looks += 1) {
      await consumer.settle();
      await bench.clock.skip(1_000);
    }
    expect(got.toSorted()).toEqual(['1', '2', '4']);
    expect(await figures()).toMatchObject({ deadLetters: 1, waiting: 0, parked: 0 });
    await consumer.close();
  });
});

describe('a consumer that is not ordered', () => {
  it('receives what follows a change that fails, and that change later, also from another process', async () => {
    const connection = newId();
    const got: unknown[] = [];
    let bad = true;
    const { consumer, open } = await consumerOf(
      async (call) => {
        const [text] = textsOf(call);
        got.push(text);
        return text === 'bad' && bad ? { kind: 'failed', error: new Error('no') } : TAKEN;
      },
      { settings: { url: 'https://crm.example', ordered: false } },
    );
    await bench.tell(connection, '1', 'bad', '3', '4');
    await consumer.settle();
    expect(got).toEqual(['1', 'bad', '3', '4']);
    expect(await figures()).toMatchObject({ parked: 1, waiting: 1 });
    await consumer.close();
    bad = false;
    await bench.clock.skip(60_000);
    const next = await open();
    await next.settle();
    expect(got).toEqual(['1', 'bad', '3', '4', 'bad']);
    expect(await figures()).toMatchObject({ parked: 0, waiting: 0 });
    await next.close();
  });
});

describe('a dead letter of a consumer that is not ordered', () => {
  it('leaves nothing that waits, also if it is replayed and fails again', async () => {
    const got: unknown[] = [];
    const { consumer } = await consumerOf(
      async (call) => {
        got.push(...textsOf(call));
        return got.at(-1) === 'bad' ? { kind: 'failed', error: new Error('no') } : TAKEN;
      },
      { settings: { url: 'https://crm.example', ordered: false }, attempts: 3 },
    );
    await bench.tell(newId(), '1', 'bad', '3');
    for (const calls of [1, 2, 3, 4]) {
      await consumer.settle();
      await bench.clock.skip(60_000);
      expect(got.filter((text) => text === 'bad')).toHaveLength(calls);
      if (calls < 3) continue;
      expect(await figures()).toMatchObject({ deadLetters: 1, waiting: 0, parked: 0 });
      const [letter] = await readDeadLetters(bench.database, null, 1, 'crm');
      expect(await replayDeadLetter(bench.database, letter?.id ?? '', 0)).toBe('crm');
    }
    await consumer.close();
  });
});

describe('a consumer that asks not to be called again', () => {
  /** A database whose statement that disables a consumer fails so many times. */
  const failing = (times: number): Database => {
    let left = times;
    return aroundQueries(bench.database, async (text, run) => {
      if (text.includes('disabled_reason') && text.startsWith('update') && left-- > 0) throw new Error('no');
      return await run();
    });
  };

  it.each([0, 1])('is disabled, also after %i failures to say so, and loses nothing', async (failures) => {
    const connection = newId();
    const got: unknown[] = [];
    let gone = true;
    const { consumer, open } = await consumerOf(
      async (call) => {
        if (gone) return { kind: 'disabled', error: new Error('410') };
        got.push(...textsOf(call));
        return TAKEN;
      },
      {},
      failing(failures),
    );
    await bench.tell(connection, '1', '2');
    await expect
      .poll(async () => {
        await consumer.check();
        return (await readConsumers(bench.database)).find(({ name }) => name === 'crm')?.state;
      })
      .toBe('disabled');
    await consumer.close();
    await bench.tell(connection, '3');
    gone = false;
    await bench.database.query(
      "update connector.consumers set state = 'running', version = version + 1 where name = 'crm'",
    );
    const next = await open();
    await next.settle();
    expect(got).toEqual(['1', '2', '3']);
    expect((await readDeadLetters(bench.database, null, 10)).filter((one) => one.consumer === 'crm')).toEqual(
      [],
    );
    await next.close();
  });

  it('is not disabled if it was changed before that is known: its new settings were never asked', async () => {
    let calls = 0;
    const { consumer } = await consumerOf(async () => {
      calls += 1;
      await bench.database.query("update connector.consumers set version = version + 1 where name = 'crm'");
      return { kind: 'disabled', error: new Error('410') };
    });
    await bench.tell(newId(), '1');
    await consumer.settle();
    await consumer.check();
    expect(calls).toBe(1);
    expect(await figures()).toMatchObject({ state: 'running' });
    await consumer.close();
  });
});

describe('an orderly stop', () => {
  it('repeats nothing, although the last write before it has failed', async () => {
    const connection = newId();
    const got: unknown[] = [];
    let fails = 0;
    const { consumer, open } = await consumerOf(
      async (call) => {
        got.push(...textsOf(call));
        return TAKEN;
      },
      {},
      aroundQueries(bench.database, async (text, run) => {
        if (!text.includes('INSERT INTO connector.consumer_places') || fails === 0) return await run();
        fails -= 1;
        throw new Error('no');
      }),
    );
    fails = 1;
    await bench.tell(connection, '1');
    await expect.poll(() => got).toEqual(['1']);
    await bench.clock.advance(500);
    await expect.poll(() => fails).toBe(0);
    await bench.tell(connection, '2');
    await expect.poll(() => got).toEqual(['1', '2']);
    await consumer.close();
    expect(
      await bench.database.query("select from connector.consumer_places where consumer = 'crm' and open"),
    ).toEqual([]);
    const next = await open();
    await bench.tell(connection, '3');
    await next.settle();
    expect(got).toEqual(['1', '2', '3']);
    await next.close();
  });
});

describe('connections with long backlogs', () => {
  it('are all called before any of them is called twice', async () => {
    const connections = Array.from({ length: 10 }, newId);
    const called = new Set<string>();
    const all = Promise.withResolvers<void>();
    let calls = 0;
    const { consumer } = await consumerOf(async ({ changes: [first] }) => {
      calls += 1;
      called.add(String(first?.change.connectionId));
      if (called.size === connections.length) all.resolve();
      await all.promise;
      return TAKEN;
    });
    // Long ones (over 500), one after the other: the last begins behind the 5,000 changes that are kept in memory.
    for (const connection of connections) await addBacklog(connection, 600);
    await bench.feed.settle();
    await all.promise;
    expect(calls).toBe(10);
    await consumer.settle();
    expect(calls).toBeGreaterThanOrEqual(6_000);
    expect(await figures()).toMatchObject({ waiting: 0, parked: 0 });
    await consumer.close();
  });

  it('hold nobody while their calls hang for an hour, and come in order afterwards', async () => {
    const hanging = Array.from({ length: 11 }, newId);
    const other = newId();
    const goOn = Promise.withResolvers<void>();
    const got = new Map<string, number[]>();
    const { consumer } = await consumerOf(
      async ({ changes: [first] }) => {
        const { connectionId, seq } = first?.change ?? { connectionId: '', seq: 0 };
        if (hanging.includes(connectionId)) await goOn.promise;
        got.set(connectionId, [...(got.get(connectionId) ?? []), seq]);
        return TAKEN;
      },
      { deadlineMs: 2 * 3_600_000 },
    );
    // More than what is kept in memory, in queues that are not long.
    for (const connection of hanging) await addBacklog(connection, 480);
    await bench.feed.settle();
    await bench.tell(other, '1', '2');
    await expect
      .poll(async () => {
        await bench.clock.advance(1_000);
        return got.get(other)?.length;
      })
      .toBe(2);
    await bench.clock.advance(3_600_000);
    await bench.tell(other, '3');
    await expect.poll(() => got.get(other)?.length).toBe(3);
    goOn.resolve();
    await consumer.settle();
    for (const connection of hanging) {
      const seqs = got.get(connection) ?? [];
      // With the creation of the connection.
      expect(seqs.length).toBeGreaterThanOrEqual(480);
      expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
    }
    await consumer.close();
  });
});

describe('a consumer whose check fails', () => {
  it('holds back no other consumer', async () => {
    const connection = newId();
    const { lastSeq } = await bench.feed.position();
    const keyRing = createKeyRing([generateSealingKey()]);
    const sealed = await sealConsumer(keyRing, 'a', { secret: 's', redisUrl: undefined });
    const settings = { url: 'https://crm.example', ordered: true };
    await addConsumer(
      bench.database,
      { name: 'a', kind: 'http', settings, ...sealed, createdAt: 0 },
      lastSeq,
    );
    onTestFinished(async () => void (await deleteConsumer(bench.database, 'a')));
    let failures = 0;
    const failing = aroundQueries(bench.database, (_text, run, params) => {
      if (!params.includes('consumer:a/')) return run();
      failures += 1;
      throw new Error('the leases of this consumer cannot be read');
    });
    await bench.running({}, { database: failing, keyRing });
    await bench.tell(connection, 'x');
    await expect.poll(() => bench.callsOf(connection)).toEqual(['x 1']);
    expect(failures).toBeGreaterThan(0);
  });
});

describe('a consumer that this process cannot open', () => {
  it('holds back no other consumer', async () => {
    const connection = newId();
    const { lastSeq } = await bench.feed.position();
    await addConsumer(
      bench.database,
      { name: 'a', kind: 'http', settings: { url: 'https://crm.example', ordered: true }, createdAt: 0 },
      lastSeq,
    );
    onTestFinished(async () => void (await deleteConsumer(bench.database, 'a')));
    const process = await bench.running();
    await bench.tell(connection, 'x');
    await process.settle();
    expect(bench.callsOf(connection)).toEqual(['x 1']);
  });
});
