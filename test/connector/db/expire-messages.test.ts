import { beforeEach, describe, expect, it } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { deleteErasedDeliveries } from '../../../src/connector/db/erase-messages.ts';
import { emptyMessages, expireMessages } from '../../../src/connector/db/expire-messages.ts';
import { readDueCopies, readWaitingFiles } from '../../../src/connector/db/media-copies.ts';
import { beginMessagePeriod, listMessagePeriods } from '../../../src/connector/db/message-periods.ts';
import { aroundQueries } from '../../support/replace-calls.ts';
import {
  databaseOfFile,
  databaseWithoutDaysOfTest,
  emptyTables,
  polled,
  readAllChanges,
  T0,
} from '../support/event-fixtures.ts';

const going = new AbortController().signal;

const database = databaseOfFile();

beforeEach(() => emptyTables(database));

const TEXTS = {
  peer: '447700900201',
  text: 'Hello',
  mediaUrl: 'https://files.example.com/1',
  mediaType: 'image/png',
  errorMessage: 'none',
  waMessageId: 'wa-1',
  reference: 'order-1',
};
const write = (id: string, createdAt: number, more: object = {}) =>
  commitBatch(database, {
    now: createdAt,
    messages: [polled('connection', id, { ...TEXTS, createdAt, ...more })],
  });
const NOW = T0 + 30 * 86_400_000;
const expire = (before: number, stopping = going) =>
  emptyMessages(database, { before, now: NOW, stopping }, []);
const stored = () =>
  database.query<Record<string, unknown>>('SELECT * FROM connector.messages ORDER BY connection_id, id');
const known = async () =>
  (await stored()).map(({ id, text, erased, expired }) => ({ id, text, erased, expired }));

it('removes numbers, texts and addresses of what is older, in both directions, and keeps the rest', async () => {
  await write('old', T0 - 1);
  await write('own', T0 - 1, { direction: 'outgoing', status: 'delivered' });
  await write('young', T0);
  expect(await expire(T0)).toBe(2);
  expect(await known()).toEqual([
    { id: 'old', text: null, erased: true, expired: true },
    { id: 'own', text: null, erased: true, expired: true },
    { id: 'young', text: 'Hello', erased: false, expired: false },
  ]);
  const [old] = await stored();
  expect(old).toMatchObject({
    peer: null,
    media_url: null,
    media_type: null,
    error_message: null,
    wa_message_id: null,
    reference: null,
    origin: null,
    created_at: T0 - 1,
  });
  expect(await expire(T0)).toBe(0);
});

it('what a poll or a late status reports of an expired message changes nothing, and is told to nobody', async () => {
  await write('own', T0 - 1, { direction: 'outgoing', status: 'delivered' });
  await expire(T0);
  const told = (await readAllChanges(database)).length;
  await write('own', T0 - 1, { direction: 'outgoing', status: 'read' });
  expect(await known()).toEqual([{ id: 'own', text: null, erased: true, expired: true }]);
  expect(await readAllChanges(database)).toHaveLength(told);
});

it('has the worker remove a file, also one that it is fetching', async () => {
  for (const state of ['stored', 'pending', 'failed']) await write(state, T0 - 1);
  await database.query(
    `UPDATE connector.messages SET media_due_at = 1,
        media_copy = CASE id WHEN 'failed' THEN '{"state": "failed"}'::jsonb
                     ELSE jsonb_build_object('state', id, 'key', 'key-of-' || id) END`,
  );
  await expire(T0);
  expect((await stored()).map((row) => [row['media_copy'], row['media_due_at']])).toEqual([
    [null, NOW],
    [{ state: 'removing', key: 'key-of-pending', since: NOW }, NOW],
    [{ state: 'removing', key: 'key-of-stored', since: NOW }, NOW],
  ]);
});

it('has a file that is to be removed wait since then, and behind files that are to be fetched', async () => {
  await write('old', T0 - 1);
  await database.query(`UPDATE connector.messages SET media_copy = '{"state": "stored", "key": "1"}'`);
  await expire(T0);
  await write('new', NOW);
  await database.query(`UPDATE connector.messages SET media_copy = '{"state": "pending"}' WHERE id = 'new'`);
  expect(await readWaitingFiles(database)).toEqual({ waiting: 2, oldestAt: NOW });
  const due = await readDueCopies(database, 'media', NOW, 10);
  expect(due.map(({ key }) => JSON.parse(key))).toEqual([
    ['connection', 'new'],
    ['connection', 'old'],
  ]);
});

it('empties more than one statement does, and ends early when it is to stop', async () => {
  await commitBatch(database, {
    now: T0,
    messages: Array.from({ length: 1_100 }, (_, n) =>
      polled(`connection-${n % 3}`, `m${n}`, { ...TEXTS, createdAt: T0 - n - 1 }),
    ),
  });
  expect(await expire(T0, AbortSignal.abort())).toBe(500);
  expect(await expire(T0)).toBe(600);
});

it('does not delete deliveries, as an erasure does', async () => {
  await write('old', T0 - 1);
  await database.query(
    `INSERT INTO connector.inbox (received_at, subscription_id, account_id, signed_at, body, connection_id, message_id, outcome, change_mask)
     VALUES ($1, 'subscription', 'account-1', $1, '', 'connection', 'old', 'merged', 0)`,
    [T0],
  );
  await expire(T0);
  await deleteErasedDeliveries(database, T0);
  expect(await database.query('SELECT FROM connector.inbox')).toHaveLength(1);
});

describe('of messages with a period for each day', () => {
  const DAY = 86_400_000;
  const database = databaseWithoutDaysOfTest();

  const begin = (day: number) => beginMessagePeriod(database, T0 + day * DAY, DAY);
  /** Messages that are first stored on a day, and were created then unless `more` says otherwise. */
  const write = async (day: number, ids: readonly string[], more: object = {}) => {
    const now = T0 + day * DAY;
    await begin(day);
    const messages = ids.map((id) => polled('connection', id, { ...TEXTS, createdAt: now, ...more }));
    await commitBatch(database, { now, messages });
  };
  const expire = (before: number) =>
    expireMessages(database, { before: T0 + before * DAY, now: NOW, patienceMs: DAY, stopping: going });
  const texts = async () =>
    (
      await database.query<{ id: string; text: string | null }>(
        'SELECT id, text FROM connector.messages ORDER BY id',
      )
    ).map(({ id, text }) => `${id} ${text}`);
  const days = async () =>
    (await listMessagePeriods(database)).map(({ from }) => (from === 0 ? 'first' : (from - T0) / DAY));
  const toldOf = async () => (await readAllChanges(database)).map(({ type }) => type).slice(1);

  it('drops the periods that are over, and empties none of the one that goes next', async () => {
    await write(0, ['a', 'b']);
    await write(1, ['c']);
    await write(2, ['d']);
    expect(await expire(1)).toEqual({ periods: 2, emptied: 0 });
    expect(await days()).toEqual([1, 2]);
    expect(await expire(1.5)).toEqual({ periods: 0, emptied: 0 });
    expect(await texts()).toEqual(['c Hello', 'd Hello']);
    expect(await expire(2)).toEqual({ periods: 1, emptied: 0 });
    expect(await texts()).toEqual(['d Hello']);
  });

  it('what is reported of a dropped message changes nothing, and is told to nobody', async () => {
    await write(0, ['a'], { direction: 'outgoing', status: 'delivered' });
    await begin(1);
    await expire(1);
    await write(2, ['a'], { direction: 'outgoing', status: 'read' });
    expect(await toldOf()).toEqual(['message.created']);
    expect(await texts()).toEqual([]);
  });

  it('a message keeps its period, and what is reported in a later one changes its row', async () => {
    await write(0, ['a'], { direction: 'outgoing', status: 'sent' });
    await write(1, ['a'], { direction: 'outgoing', status: 'read' });
    expect(await database.query('SELECT status, filed_at AS period FROM connector.messages')).toEqual([
      { status: 'read', period: T0 },
    ]);
    expect(await toldOf()).toEqual(['message.created', 'message.status']);
  });

  it('keeps a new message of a process whose clock shows a dropped day, and what follows of it', async () => {
    await write(0, ['a']);
    await begin(1);
    await expire(1);
    await write(0, ['b'], { direction: 'outgoing', status: 'sent' });
    await write(0, ['b'], { direction: 'outgoing', status: 'read' });
    expect(await texts()).toEqual(['b Hello']);
    expect(await toldOf()).toEqual(['message.created', 'message.created', 'message.status']);
  });

  it('empties older messages that were first stored later, or in a longer period', async () => {
    await write(0, ['found by a walk'], { createdAt: T0 - 90 * DAY });
    await write(0, ['old']);
    await write(0, ['young'], { createdAt: T0 + 2 * DAY });
    expect(await expire(-0.5)).toEqual({ periods: 0, emptied: 1 });
    await begin(5);
    expect(await expire(1)).toEqual({ periods: 1, emptied: 1 });
    expect(await texts()).toEqual(['found by a walk null', 'old null', 'young Hello']);
  });

  it('keeps a period until the worker has removed its files, and empties it after six hours', async () => {
    await write(0, ['file', 'text']);
    await database.query(
      `UPDATE connector.messages SET media_copy = '{"state": "stored", "key": "1"}' WHERE id = 'file'`,
    );
    await begin(1);
    expect(await expire(1)).toEqual({ periods: 1, emptied: 0 });
    expect(await days()).toEqual([0, 1]);
    expect(await texts()).toEqual(['file null', 'text Hello']);
    const later = { before: T0 + DAY, now: NOW + DAY / 4, stopping: going };
    expect(await expireMessages(database, later)).toEqual({ periods: 0, emptied: 1 });
    expect(await texts()).toEqual(['file null', 'text null']);
    expect(await database.query('SELECT media_copy AS copy FROM connector.messages ORDER BY id')).toEqual([
      { copy: { state: 'removing', key: '1', since: NOW } },
      { copy: null },
    ]);
    await database.query('UPDATE connector.messages SET media_copy = NULL');
    expect(await expire(1)).toEqual({ periods: 1, emptied: 0 });
  });

  it('closes a period in short statements, however large it is, and stops between them', async () => {
    const count = 5_001;
    await write(
      0,
      Array.from({ length: count }, (_, n) => `m${n}`),
    );
    await begin(1);
    const stop = new AbortController();
    const stopping = aroundQueries(database, async (text, run) => {
      const found = await run();
      if (found.length > 0 && text.includes('INTO connector.expired_messages')) stop.abort();
      return found;
    });
    const expired = async () => (await database.query('SELECT FROM connector.expired_messages')).length;
    const { periods } = await expireMessages(stopping, { before: T0 + DAY, now: NOW, stopping: stop.signal });
    // The first period is empty.
    expect([periods, await expired()]).toEqual([1, 5_000]);
    expect(await expire(1)).toMatchObject({ periods: 1 });
    expect(await expired()).toBe(count);
  });

  it('keeps a period that somebody reads for a long time as it is, and writers do not wait', async () => {
    await write(0, ['a']);
    await begin(1);
    const [reading, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const reader = database.transaction(async (tx) => {
      await tx.query('SELECT count(*) FROM connector.messages');
      reading.resolve();
      await over.promise;
    });
    await reading.promise;
    const expiring = expire(1);
    await write(1, ['b']);
    expect(await expiring).toEqual({ periods: 0, emptied: 0 });
    over.resolve();
    await reader;
    expect(await texts()).toEqual(['a Hello', 'b Hello']);
    expect(await expire(1)).toEqual({ periods: 2, emptied: 0 });
    expect(await texts()).toEqual(['b Hello']);
  });
});
