import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { readConsumers } from '../../../src/connector/consumers/consumer-store.ts';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import type { MessageFacts } from '../../../src/connector/db/facts.ts';
import { ofFile } from '../../support/of-file.ts';
import { newId, received, T0 } from '../support/event-fixtures.ts';
import { ConsumerBench } from './consumer-bench.ts';

const bench = ofFile(() => ConsumerBench.open());
afterEach(async () => {
  await bench.stopAll();
  bench.answer = () => undefined;
});

/** Polling finds these messages, which are older than the first listing of their connection. */
async function addHistory(connectionId: string, texts: readonly string[]): Promise<void> {
  await bench.tell(connectionId);
  await bench.database.query(
    `insert into connector.connections (connection_id, account_id, listed_at, history_until, version, updated_at)
     values ($1, 'account-1', 0, $2, 1, 0)
     on conflict (connection_id) do update set history_until = excluded.history_until`,
    [connectionId, T0 + 1],
  );
  const facts: Partial<MessageFacts> = { source: 'poll', webhookSeen: 0, peer: null };
  const messages = texts.map((text) => received(connectionId, text, { ...facts, text }));
  await commitBatch(bench.database, { now: bench.clock.now(), messages, via: 'coverage' });
  await bench.feed.settle();
}

/** The status of an old message, which a webhook reports. */
async function addStatus(connectionId: string, messageId: string): Promise<void> {
  const facts = { direction: 'outgoing', status: 'read', peer: null, text: null } as const;
  const message = received(connectionId, messageId, facts);
  await commitBatch(bench.database, { now: bench.clock.now(), messages: [message] });
  await bench.feed.settle();
}

const called = (): unknown[] => bench.calls.map(({ change, text }) => text ?? change.type);

/** Begins at the end of the feed, so what is added later waits for the next process. */
async function registered(): Promise<void> {
  await (await bench.running()).close();
  bench.calls = [];
}

describe('the history of connections', () => {
  it('is passed on in order after everything that is new, also of other connections', async () => {
    await registered();
    const [first, second] = [newId(), newId()];
    await addHistory(first, [`1 of ${first}`, `2 of ${first}`, `3 of ${first}`]);
    await bench.tell(first, 'new');
    await bench.tell(second, 'of another');
    const process = await bench.running();
    await process.settle();
    expect(called().slice(0, 2).toSorted()).toEqual(['new', 'of another']);
    expect(called().slice(2)).toEqual([`1 of ${first}`, `2 of ${first}`, `3 of ${first}`]);
    const historic = bench.calls.map(({ change }) => 'historic' in change.data && change.data.historic);
    expect(historic).toEqual([false, false, true, true, true]);
  });

  it('does not keep what is new waiting, however much of it fills the memory', {
    timeout: 300_000,
  }, async () => {
    await registered();
    const connectionId = newId();
    const texts = Array.from({ length: 6_000 }, (_, index) => `${1_000 + index} of ${connectionId}`);
    await addHistory(connectionId, texts);
    await bench.tell(newId(), 'new');
    const process = await bench.running();
    await process.settle();
    expect(called().indexOf('new')).toBe(0);
    expect(called().slice(1)).toEqual(texts);
  });

  it('is tried while it fills the memory and the consumer is unavailable', { timeout: 60_000 }, async () => {
    await registered();
    const [row] = await readConsumers(bench.database);
    if (row === undefined) throw new Error('there is no consumer');
    const called = new Set<number>();
    let away = true;
    const consumer = await bench.consumer(row, {
      async call({ changes }) {
        if (away) return { kind: 'unavailable', error: new Error('no') };
        for (const { change } of changes) called.add(change.seq);
        return { kind: 'taken' };
      },
    });
    onTestFinished(() => consumer.close());
    await addHistory(newId(), ['first']);
    await consumer.check();
    await consumer.settle();
    const connectionId = newId();
    await addHistory(
      connectionId,
      Array.from({ length: 6_000 }, (_, index) => `${index} of ${connectionId}`),
    );
    await consumer.settle();
    away = false;
    await bench.pass(30_000, consumer);
    expect(called.size).toBe(6_001);
  });

  it('leaves half of the places to what comes while it is called', async () => {
    await registered();
    const old = Array.from({ length: 4 }, newId);
    for (const connectionId of old) await addHistory(connectionId, [`old ${connectionId}`]);
    await bench.database.query(`update connector.consumers set concurrency = 2 where name = 'handler'`);
    const release = Promise.withResolvers<void>();
    bench.answer = ({ text }) => (text?.startsWith('old') ? release.promise : undefined);
    const process = await bench.running();
    await expect.poll(() => bench.calls.length).toBe(1);
    await bench.tell(newId(), 'new');
    await expect.poll(() => called().at(-1)).toBe('new');
    expect(bench.calls).toHaveLength(2);
    release.resolve();
    await process.settle();
    expect(bench.calls).toHaveLength(5);
    await bench.database.query(`update connector.consumers set concurrency = 50 where name = 'handler'`);
  });

  it('is passed on after a failover, since when nothing has come', async () => {
    await registered();
    const connectionId = newId();
    const texts = [`1 of ${connectionId}`, `2 of ${connectionId}`];
    await addHistory(connectionId, texts);
    const release = Promise.withResolvers<void>();
    bench.answer = () => release.promise;
    await bench.running();
    await expect.poll(() => bench.calls.length).toBe(1);
    await bench.database.query('update connector.feed set base_seq = connector.last_seq() + 4294967296');
    await bench.feed.settle();
    release.resolve();
    await expect.poll(called).toEqual(texts);
  });

  it('includes later statuses of its messages, in their order', async () => {
    await registered();
    const connectionId = newId();
    const facts: Partial<MessageFacts> = { source: 'poll', webhookSeen: 0, peer: null };
    await addHistory(connectionId, []);
    const message = received(connectionId, 'old', {
      ...facts,
      direction: 'outgoing',
      status: 'sent',
      text: 'old',
    });
    await commitBatch(bench.database, { now: T0, messages: [message], via: 'coverage' });
    await addStatus(connectionId, 'old');
    await bench.tell(connectionId, 'new');
    const process = await bench.running();
    await process.settle();
    expect(called()).toEqual(['new', 'old', 'message.status']);
  });

  it.each([
    ['skip', ['new', 'newer']],
    ['all', ['new', 'old', 'newer']],
  ] as const)('is passed on as the handlers say: %s', async (historic, expected) => {
    await registered();
    const connectionId = newId();
    await bench.tell(connectionId, 'new');
    await addHistory(connectionId, ['old']);
    await bench.tell(connectionId, 'newer');
    const process = await bench.running({ historic });
    await process.settle();
    expect(called()).toEqual(expected);
  });

  it('is continued by the next process where the last one stopped', async () => {
    await registered();
    const connectionId = newId();
    const texts = Array.from({ length: 5 }, (_, index) => `${index} of ${connectionId}`);
    await addHistory(connectionId, texts);
    const second = Promise.withResolvers<void>();
    bench.answer = ({ text }) => {
      if (text === texts[2]) second.resolve();
    };
    const first = await bench.running();
    await second.promise;
    await first.close();
    await (await bench.running()).settle();
    expect(called()).toEqual(texts);
  });
});
