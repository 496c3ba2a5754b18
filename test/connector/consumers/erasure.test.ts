import { describe, expect, it, onTestFinished } from 'vitest';
import { type ConsumerRow, readConsumers } from '../../../src/connector/consumers/consumer-store.ts';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import type { MessageFacts } from '../../../src/connector/db/facts.ts';
import { readChanges } from '../../../src/connector/feed/read-changes.ts';
import { queueSend } from '../../../src/connector/outbox/queue-send.ts';
import { erasePerson } from '../../../src/connector/people/erase-person.ts';
import type { Change } from '../../../src/contract/connector/changes.ts';
import { newId, received, T0 } from '../support/event-fixtures.ts';
import { consumerBenchOfFile } from './consumer-bench.ts';

const bench = consumerBenchOfFile();

const ERASED = '447700900201';
const OTHER = '447700900202';

async function erase(): Promise<void> {
  await erasePerson({ database: bench.database, mediaStore: null }, ERASED, T0);
  await bench.feed.settle();
}

async function addConnection(): Promise<string> {
  const connectionId = newId();
  await bench.database.query(
    `insert into connector.connections (connection_id, account_id, listed_at, history_until, version, updated_at)
     values ($1, 'account-1', 0, $2, 1, 0)`,
    [connectionId, T0 + 1],
  );
  return connectionId;
}

/** Stores a message with each of these peers, that has a text, a file, its copy and a reference. */
async function store(connectionId: string, peers: readonly string[], facts: Partial<MessageFacts> = {}) {
  const file = { mediaUrl: 'https://files.example/1', mediaType: 'image/png' };
  for (const peer of peers) {
    const told = { peer, text: `of ${peer}`, reference: 'r', ...file, ...facts };
    const messages = [received(connectionId, newId(), told)];
    await commitBatch(bench.database, { now: bench.clock.now(), messages, via: 'coverage' });
  }
  await bench.database.query(
    `update connector.changes set media_copy = '{"state": "stored", "key": "k"}' where connection_id = $1`,
    [connectionId],
  );
}

/** The changes that the feed has after this one, except the erasure. */
async function keptAfter(seq: number): Promise<readonly Change[]> {
  const changes = await readChanges(bench.database, seq, 100);
  return changes.filter(({ type }) => type !== 'person.erased');
}

describe('after a person was erased, a consumer receives what the feed still has', () => {
  it('of history, which waited for everything else', async () => {
    const { lastSeq } = await bench.feed.position();
    const release = Promise.withResolvers<void>();
    bench.answer = () => (bench.calls.length === 1 ? release.promise : undefined);
    const process = await bench.running();
    await store(await addConnection(), [ERASED, ERASED, OTHER], { source: 'poll', webhookSeen: 0 });
    await bench.feed.settle();
    await expect.poll(() => bench.calls.length).toBe(1);
    await erase();
    await expect.poll(() => bench.calls.length).toBe(2);
    // The call that was in progress fails, so its change is called again.
    release.reject(new Error('no'));
    await process.settle();
    await bench.pass(60_000, process);
    const [first, erasure, ...later] = bench.calls.map(({ change }) => change);
    expect([first?.data, erasure?.type]).toMatchObject([{ peer: ERASED }, 'person.erased']);
    expect(later).toEqual(await keptAfter(lastSeq));
    expect(later.map(({ data }) => 'peer' in data && data.peer)).toEqual([null, null, OTHER]);
  });

  it('of changes that failed before, if it is not ordered, also if its filter drops the erasure', async () => {
    const { lastSeq } = await bench.feed.position();
    const [base] = await readConsumers(bench.database);
    if (base === undefined) throw new Error('there is no consumer');
    const settings = { url: 'https://crm.example', ordered: false };
    const filter: ConsumerRow['filter'] = { types: ['message.created', 'outbound.updated'] };
    const got: Change[] = [];
    let fails = true;
    const consumer = await bench.consumer(
      { ...base, settings, filter },
      {
        async call({ changes }) {
          if (fails) return { kind: 'failed', error: new Error('no') };
          got.push(...changes.map(({ change }) => change));
          return { kind: 'taken' };
        },
      },
    );
    onTestFinished(() => consumer.close());
    await consumer.check();
    const connectionId = await addConnection();
    await store(connectionId, [ERASED, OTHER]);
    const media = { filename: 'a.png', mimetype: 'image/png', caption: 'Hello', data: 'AAAA' };
    for (const to of [ERASED, OTHER]) {
      await queueSend(bench.database, { connectionId, to, text: 'Hello', reference: newId() }, T0);
      await queueSend(bench.database, { connectionId, to, media, reference: newId() }, T0);
    }
    await bench.feed.settle();
    await consumer.settle();
    await erase();
    await consumer.settle();
    fails = false;
    await bench.pass(60_000, consumer);
    expect(got.toSorted((a, b) => a.seq - b.seq)).toEqual(await keptAfter(lastSeq));
    const named = got.map(({ data }) => ('to' in data ? data.to : 'peer' in data && data.peer));
    expect(named.toSorted()).toEqual(['', '', OTHER, OTHER, OTHER, null]);
  });
});
