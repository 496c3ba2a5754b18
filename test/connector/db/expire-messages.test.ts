import { beforeEach, expect, it } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { deleteErasedDeliveries } from '../../../src/connector/db/erase-messages.ts';
import { expireMessages } from '../../../src/connector/db/expire-messages.ts';
import { databaseOfFile, emptyTables, polled, readAllChanges, T0 } from '../support/event-fixtures.ts';

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
const expire = (before: number, stopping = going) => expireMessages(database, { before, stopping });
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
    [null, null],
    [{ state: 'removing', key: 'key-of-pending' }, null],
    [{ state: 'removing', key: 'key-of-stored' }, null],
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
  await deleteErasedDeliveries(database);
  expect(await database.query('SELECT FROM connector.inbox')).toHaveLength(1);
});
