import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { emptyMessages } from '../../../src/connector/db/expire-messages.ts';
import { namePeer } from '../../../src/connector/db/name-peer.ts';
import { makePartitions } from '../../../src/connector/db/time-partitions.ts';
import { numberChanges } from '../../../src/connector/feed/sequencer.ts';
import { startReadingAgain } from '../../../src/connector/inbox/read-again.ts';
import { erasePerson, NoMediaStore } from '../../../src/connector/people/erase-person.ts';
import { replay } from '../../../src/connector/replay/replay.ts';
import { startRetention } from '../../../src/connector/retention.ts';
import { createPresence } from '../../../src/connector/work/presence.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { countWaiting } from '../../support/database.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { aroundStatements, replaceCalls } from '../../support/replace-calls.ts';
import { ConsumerBench } from '../consumers/consumer-bench.ts';
import { OutboxBench, refuse, SOMEBODY, sentAs } from '../outbox/outbox-bench.ts';
import {
  databaseOfFile,
  delivery,
  emptyTables,
  outage,
  polled,
  received,
  silentLogger,
  status,
  T0,
} from '../support/event-fixtures.ts';

/* What was read before an erasure, and is written while it runs or after it. */

const DAY = 86_400_000;

const database = databaseOfFile(8);
const clock = new ManualClock(T0);

beforeEach(async () => {
  await emptyTables(database);
  await makePartitions(database, 'inbox', T0 - DAY, { days: 1, ahead: 1 });
});

const erase = () => erasePerson({ database, mediaStore: null }, SOMEBODY, T0);
const messages = () => database.query('SELECT id, peer, text FROM connector.messages');
const deliveries = () => database.query('SELECT message_id FROM connector.inbox');

/** Stores a delivery of the person's message `m1` as one that became no message. */
async function keep(outcome: 'invalid' | 'foreign'): Promise<void> {
  const { connection: _, ...raw } = delivery({ connection: outage('c1', T0) }, { receivedAt: T0 });
  const message = { id: 'm1', wa_id: null, from: SOMEBODY, text: 'Hello', timestamp: T0 };
  const body = Buffer.from(JSON.stringify({ event: 'message.received', connection_id: 'c1', message }));
  const names = { connectionId: 'c1', messageId: outcome === 'foreign' ? 'm1' : null };
  const kept = { ...raw, names, event: 'message.received', body, outcome: 'invalid' } as const;
  await commitBatch(database, { now: T0, deliveries: [kept] });
  await database.query('UPDATE connector.inbox SET outcome = $1', [outcome]);
}

/** Calls `before` once, before the first statement that merges messages. */
function beforeMerge(before: () => Promise<void>): Database {
  let called = false;
  return aroundStatements(database, async (text, run) => {
    if (!called && text.includes('INSERT INTO connector.messages')) {
      called = true;
      await before();
    }
    return await run();
  });
}

/** An erasure that begins before the merge and has got as far as it can when the merge runs. */
function eraseDuring() {
  const erased = Promise.withResolvers<unknown>();
  const merging = beforeMerge(async () => {
    let ended = false;
    const erasing = erase().finally(() => {
      ended = true;
    });
    erasing.then(erased.resolve, erased.reject);
    await expect.poll(async () => ended || (await countWaiting(database)) > 0).toBe(true);
  });
  return { merging, erased: erased.promise };
}

const run = (on: Database) =>
  replay({
    ...{ database: on, clock, apply: true, signal: new AbortController().signal },
    onDifference: () => undefined,
    onProgress: () => undefined,
  });

/** Erases the person, and does this once the feed was read. */
async function eraseWhile(meanwhile: () => Promise<unknown>) {
  await numberChanges(database);
  let read = false;
  const slow = aroundStatements(database, async (text, run) => {
    const rows = await run();
    if (!read && text.startsWith('DELETE FROM connector.inbox WHERE')) {
      read = true;
      await meanwhile();
    }
    return rows;
  });
  return await erasePerson({ database: slow, mediaStore: null }, SOMEBODY, T0);
}
const textsOfChanges = () =>
  database.query(
    "SELECT peer, text FROM connector.changes WHERE type IN ('message.created', 'message.updated') AND (peer, text) IS DISTINCT FROM (NULL, NULL)",
  );

it('deliveries about messages of the person wait for no reading of the feed, and are erased', async () => {
  const sent = { peer: SOMEBODY, text: 'Hello' } as const;
  await commitBatch(database, {
    now: T0,
    messages: [polled('c1', 'm1', { ...sent, direction: 'outgoing' })],
  });
  const known = delivery({ message: status('c1', 'm1', 'read') }, { receivedAt: T0 });
  const begun = delivery({ message: received('c1', 'm2', sent) }, { receivedAt: T0 });
  const erased = await eraseWhile(async () => {
    await commitBatch(database, { now: T0, deliveries: [known, begun] }, { deadlineMs: 2_000 });
    await commitBatch(database, { now: T0, messages: [polled('c1', 'm1', { mediaUrl: 'https://files/1' })] });
  });
  expect(erased).toEqual({ messages: 2, sends: 0 });
  expect(await database.query('SELECT id, status, peer, text FROM connector.messages ORDER BY id')).toEqual([
    { id: 'm1', status: 'read', peer: null, text: null },
    { id: 'm2', status: null, peer: null, text: null },
  ]);
  expect(await textsOfChanges()).toEqual([]);
  expect(await deliveries()).toEqual([]);
});

it('a change of a send that is written while the feed is read names nobody', async () => {
  await commitBatch(database, { now: T0, messages: [polled('c1', 'm1')] });
  await eraseWhile(() =>
    database.query(
      `WITH made AS (INSERT INTO connector.change_batches (id, size, changed_at)
         VALUES (nextval('connector.change_batch_id'), 1, $1::bigint) RETURNING id)
       INSERT INTO connector.changes (batch, position, type, at, account_id, connection_id, source, data)
       SELECT id, 1, 'outbound.updated', $1::bigint, 'a', 'c1', 'send', jsonb_build_object('to', $2::text) FROM made`,
      [T0, SOMEBODY],
    ),
  );
  const sends = await database.query(
    "SELECT data ->> 'to' AS to FROM connector.changes WHERE type = 'outbound.updated'",
  );
  expect(sends).toEqual([{ to: '' }]);
});

it('a message that is named while the feed is read loses its earlier texts', async () => {
  await commitBatch(database, { now: T0, messages: [polled('c1', 'm1', { text: 'Hello' })] });
  const named = { id: 'm1', connectionId: 'c1' };
  expect(await eraseWhile(() => namePeer(database, named, SOMEBODY, T0))).toEqual({ messages: 1, sends: 0 });
  expect(await messages()).toEqual([{ id: 'm1', peer: null, text: null }]);
  expect(await textsOfChanges()).toEqual([]);
});

it('a message that expires while the feed is read is told', async () => {
  const old = received('c1', 'm1', { peer: SOMEBODY, createdAt: T0 - DAY });
  await commitBatch(database, { now: T0, messages: [old] });
  const { signal: stopping } = new AbortController();
  const expire = () => emptyMessages(database, { before: T0, now: T0, stopping }, []);
  expect(await eraseWhile(expire)).toEqual({ messages: 1, sends: 0 });
});

it('a person whose files are kept is not erased without their store', async () => {
  await commitBatch(database, {
    now: T0,
    messages: [received('c1', 'm1', { peer: SOMEBODY, text: 'Hello' })],
  });
  await database.query(`UPDATE connector.messages SET media_copy = '{"state": "stored", "key": "k"}'`);
  await expect(erase()).rejects.toBeInstanceOf(NoMediaStore);
  expect(await messages()).toEqual([{ id: 'm1', peer: SOMEBODY, text: 'Hello' }]);
});

it('a change of the feed names 500 erased messages at most', async () => {
  const ids = Array.from({ length: 501 }, (_, n) => `m${n}`);
  await commitBatch(database, { now: T0, messages: ids.map((id) => received('c1', id, { peer: SOMEBODY })) });
  await erase();
  const told = await database.query<{ ids: string[] }>(
    `SELECT data -> 'messageIds' AS ids FROM connector.changes WHERE type = 'person.erased'`,
  );
  expect(told.map((change) => change.ids.length).sort()).toEqual([1, 500]);
  expect(new Set(told.flatMap((change) => change.ids))).toEqual(new Set(ids));
});

it('the answer of a send that was taken for lost brings nothing back', async () => {
  const bench = await OutboxBench.open();
  onTestFinished(() => bench.close());
  const connectionId = await bench.addConnection();
  await bench.queueText(connectionId, 'Hello');
  const late = Promise.withResolvers<ReturnType<typeof sentAs>>();
  bench.answer = () => late.promise;
  const first = await bench.running();
  const sending = first.settle();
  await expect.poll(() => bench.calls.length).toBe(1);
  await bench.bury(first);
  bench.answer = () => refuse('send_failed');
  await bench.sendAll(await bench.running(), 2);
  const erased = await erasePerson({ database: bench.database, mediaStore: null }, SOMEBODY, T0);
  expect(erased).toEqual({ messages: 0, sends: 1 });
  late.resolve(sentAs('m1'));
  await sending;
  expect(await bench.database.query('SELECT id FROM connector.messages')).toEqual([]);
});

it('neither the feed nor the inbox keeps texts of a message that was named and has expired since', async () => {
  const createdAt = T0 - DAY;
  await commitBatch(database, { now: T0, messages: [polled('c1', 'm1', { text: 'Hello', createdAt })] });
  await namePeer(database, { id: 'm1', connectionId: 'c1' }, SOMEBODY, T0);
  const message = received('c1', 'm1', { createdAt, peer: SOMEBODY });
  await commitBatch(database, { now: T0, deliveries: [delivery({ message }, { receivedAt: T0 })] });
  await emptyMessages(database, { before: T0, now: T0, stopping: new AbortController().signal }, []);
  await erase();
  expect(
    await database.query("SELECT type, peer, text FROM connector.changes WHERE type LIKE 'message.%'"),
  ).toEqual([
    { type: 'message.created', peer: null, text: null },
    { type: 'message.updated', peer: null, text: null },
  ]);
  expect(await deliveries()).toEqual([]);
  // What a consumer has of it is not expired.
  expect(await database.query("SELECT data FROM connector.changes WHERE type = 'person.erased'")).toEqual([
    { data: { messageIds: ['m1'], outboundIds: [] } },
  ]);
});

/** A consumer whose errors quote the text, and what the database has of them. */
async function quotingConsumer() {
  const bench = await ConsumerBench.open();
  onTestFinished(async () => {
    await bench.stopAll();
    await bench.close();
  });
  bench.answer = ({ text }) => {
    throw new Error(`cannot store ${text}`);
  };
  const handing = await bench.running({ attempts: 2 });
  const errors = async () =>
    (
      await bench.database.query(
        'SELECT last_error FROM connector.parked UNION ALL SELECT last_error FROM connector.dead_letters',
      )
    ).map((row) => String(row['last_error']));
  return { bench, handing, errors };
}

it('an error of a consumer that had the change in memory is replaced within an hour', async () => {
  const { bench, handing, errors } = await quotingConsumer();
  await bench.tell('c1', 'Hello');
  await handing.settle();
  await erasePerson({ database: bench.database, mediaStore: null }, '15551234567', T0);
  expect(await errors()).toEqual(['Erased.']);
  await bench.clock.skip(60_000);
  await handing.settle();
  expect(await errors()).toEqual([expect.stringContaining('cannot store Hello')]);
  const retention = startRetention({
    ...{ database: bench.database, clock: bench.clock, logger: silentLogger, presence: handing.presence },
    ...{ messageDays: Infinity, changeDays: Infinity },
  });
  onTestFinished(() => retention.stop());
  await retention.settle();
  expect(await errors()).toEqual(['Erased.']);
});

it('errors that quote a message that has expired are replaced', async () => {
  const { bench, handing, errors } = await quotingConsumer();
  await bench.tell('c1', 'set aside');
  await handing.settle();
  await bench.clock.skip(60_000);
  await bench.tell('c2', 'waits');
  await handing.settle();
  expect(await errors()).toEqual([
    expect.stringContaining('cannot store waits'),
    expect.stringContaining('cannot store set aside'),
  ]);
  const stopping = new AbortController().signal;
  await emptyMessages(bench.database, { before: T0 + DAY, now: T0, stopping }, []);
  await erasePerson({ database: bench.database, mediaStore: null }, '15551234567', T0);
  expect(await errors()).toEqual(['Erased.', 'Erased.']);
});

it('a replay merges no delivery that was deleted since the replay began', async () => {
  await keep('foreign');
  const erasing = replaceCalls(database, {
    async transaction(work, options) {
      await erase();
      return await database.transaction(work, options);
    },
  });
  expect(await run(erasing)).toMatchObject({ applied: 0 });
  expect(await messages()).toEqual([]);
});

it('a replay that merges deliveries at the moment is waited for', async () => {
  await keep('foreign');
  const { merging, erased } = eraseDuring();
  expect(await run(merging)).toMatchObject({ applied: 1 });
  expect(await erased).toEqual({ messages: 1, sends: 0 });
  expect(await messages()).toEqual([{ id: 'm1', peer: null, text: null }]);
  expect(await deliveries()).toEqual([]);
});

it('deliveries that are read again at the moment are waited for', async () => {
  await keep('invalid');
  const { merging, erased } = eraseDuring();
  const presence = createPresence({ database, clock, logger: silentLogger, works: true });
  await presence.start();
  onTestFinished(() => presence.stop());
  const onCommitted = () => undefined;
  const reading = startReadingAgain({
    database: merging,
    clock,
    logger: silentLogger,
    presence,
    onCommitted,
  });
  onTestFinished(() => reading.stop());
  await reading.settle();
  expect(await erased).toEqual({ messages: 1, sends: 0 });
  expect(await messages()).toEqual([{ id: 'm1', peer: null, text: null }]);
  expect(await deliveries()).toEqual([]);
});
