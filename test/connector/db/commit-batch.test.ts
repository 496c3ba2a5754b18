import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { releaseConnections } from '../../../src/connector/db/connection-rows.ts';
import { CHANGE, type MessageFacts, WEBHOOK_SEEN } from '../../../src/connector/db/facts.ts';
import type { MessageStatus } from '../../../src/contract/service/statuses.ts';
import { applyStatus } from '../../../src/patterns/message-status.ts';
import { countWaiting } from '../../support/database.ts';
import { proves } from '../../support/proves.ts';
import {
  ACCOUNT,
  databaseOfFile,
  delivery,
  emptyTables,
  newId,
  outage,
  polled,
  readAllChanges,
  readLog,
  readMessages,
  received,
  recovery,
  status,
  T0,
} from '../support/event-fixtures.ts';

const database = databaseOfFile();

beforeEach(() => emptyTables(database));

const commit = (...deliveries: Parameters<typeof delivery>[0][]) =>
  commitBatch(database, { now: T0, deliveries: deliveries.map((told) => delivery(told)) });

const changeTypes = async () => (await readAllChanges(database)).map((change) => change.type);

interface ConnectionRow {
  readonly account_id: string;
  readonly status: string | null;
  readonly needs_reconnect: boolean | null;
  readonly reason: string | null;
  readonly phone_number: string | null;
  readonly last_event_at: number | null;
  readonly version: number;
  readonly listed_at: number | null;
  readonly visible: boolean;
}
const readConnection = async (id: string): Promise<ConnectionRow | undefined> =>
  (
    await database.query<ConnectionRow>('SELECT * FROM connector.connections WHERE connection_id = $1', [id])
  )[0];

describe('merging a message', () => {
  it('stores what an event reports, once, and reports it in the feed', async () => {
    const [connection, message] = [newId(), newId()];
    const result = await commit({ message: received(connection, message) });
    expect(result.applied).toBe(true);
    expect(result.outcomes).toEqual({ merged: 1 });
    expect(result.masks).toEqual(new Map([[CHANGE.created | CHANGE.fields | CHANGE.bookkeeping, 1]]));
    expect(await readMessages(database)).toMatchObject([
      {
        id: message,
        connection_id: connection,
        account_id: ACCOUNT,
        direction: 'incoming',
        peer: '15551234567',
        text: 'Hello',
        status: null,
        created_at: T0,
        first_seen_by: 'webhook',
        polled: false,
        webhook_seen: WEBHOOK_SEEN.received,
      },
    ]);
    expect(await readAllChanges(database)).toMatchObject([
      { type: 'connection.updated', connection_id: connection, message_id: null },
      {
        type: 'message.created',
        message_id: message,
        data: {
          direction: 'incoming',
          peer: '15551234567',
          text: 'Hello',
          createdAt: T0,
          firstSeenBy: 'webhook',
        },
      },
    ]);
  });

  it('changes nothing if the same event arrives again, and logs both deliveries', async () => {
    proves('delivery.duplicates', 'events.received.dedupe', 'status.consumer.duplicates');
    const [connection, message] = [newId(), newId()];
    await commit({ message: received(connection, message) });
    const [before] = await readMessages(database);
    const again = await commit({ message: received(connection, message) });
    expect(again.outcomes).toEqual({ unchanged: 1 });
    expect(again.masks).toEqual(new Map());
    expect(await readMessages(database)).toEqual([before]);
    expect(await changeTypes()).toEqual(['connection.updated', 'message.created']);
    expect((await readLog(database)).map((row) => row.outcome)).toEqual(['merged', 'unchanged']);
  });

  it('identifies messages by id only: two messages with one network id stay separate', async () => {
    proves('messages.item.waMessageId.no-join', 'events.received.dedupe');
    const connection = newId();
    const messages = [newId(), newId()];
    for (const message of messages) {
      await commit({ message: { ...received(connection, message), waMessageId: 'wa-1' } });
    }
    const stored = await readMessages(database);
    expect(stored.map(({ id }) => id).sort()).toEqual([...messages].sort());
  });

  it('credits one of several copies in one batch', async () => {
    const [connection, message] = [newId(), newId()];
    const copy = { message: received(connection, message) };
    expect((await commit(copy, copy, copy)).outcomes).toEqual({ merged: 1, unchanged: 2 });
    expect(await changeTypes()).toEqual(['connection.updated', 'message.created']);
  });

  it('creates the row from a status event, and completes it when a poll reads the rest', async () => {
    const [connection, message] = [newId(), newId()];
    await commit({ message: status(connection, message, 'delivered', T0 + 5_000) });
    expect(await readMessages(database)).toMatchObject([
      { text: null, peer: null, status: 'delivered', created_at: T0 + 5_000, polled: false },
    ]);
    const page = await commitBatch(database, {
      now: T0,
      messages: [
        polled(connection, message, {
          direction: 'outgoing',
          text: 'Hi',
          status: 'sent',
          createdAt: T0 + 1_000,
        }),
      ],
    });
    expect(page.masks).toEqual(new Map([[CHANGE.fields | CHANGE.bookkeeping, 1]]));
    expect(await readMessages(database)).toMatchObject([
      { text: 'Hi', status: 'delivered', created_at: T0 + 1_000, polled: true, first_seen_by: 'webhook' },
    ]);
    expect(await changeTypes()).toEqual(['connection.updated', 'message.created', 'message.updated']);
  });

  it('keeps the creation time that a poll reported, whatever an event reports later', async () => {
    const [connection, message] = [newId(), newId()];
    await commitBatch(database, { now: T0, messages: [polled(connection, message, { createdAt: T0 })] });
    await commit({ message: received(connection, message, { createdAt: T0 - 60_000 }) });
    expect(await readMessages(database)).toMatchObject([{ created_at: T0, peer: '15551234567' }]);
  });

  it('uses the earliest event as the creation time until a poll has read the message', async () => {
    const [connection, message] = [newId(), newId()];
    await commit({ message: status(connection, message, 'read', T0 + 9_000) });
    await commit({ message: status(connection, message, 'sent', T0 + 1_000) });
    await commit({ message: status(connection, message, 'delivered', T0 + 5_000) });
    expect(await readMessages(database)).toMatchObject([{ created_at: T0 + 1_000, status: 'read' }]);
  });

  it('never erases what another source has reported', async () => {
    const [connection, message] = [newId(), newId()];
    await commit({ message: received(connection, message, { mediaUrl: 'https://media.example/1' }) });
    await commitBatch(database, {
      now: T0,
      messages: [polled(connection, message, { text: null, mediaUrl: null })],
    });
    expect(await readMessages(database)).toMatchObject([
      { text: 'Hello', media_url: 'https://media.example/1', peer: '15551234567' },
    ]);
  });

  it('keeps the address of a file that a poll reported last, and reports only the first one', async () => {
    const [connection, message] = [newId(), newId()];
    const poll = (mediaUrl: string | null) =>
      commitBatch(database, { now: T0, messages: [polled(connection, message, { mediaUrl })] });
    const event = (mediaUrl: string | null) =>
      commit({ message: received(connection, message, { mediaUrl }) });
    await event('https://media.example/1?sig=1');
    await poll('https://media.example/1?sig=2');
    await poll('https://media.example/1?sig=3');
    await event('https://media.example/1?sig=1');
    await poll(null);
    expect(await readMessages(database)).toMatchObject([{ media_url: 'https://media.example/1?sig=3' }]);
    expect(await changeTypes()).toEqual(['connection.updated', 'message.created']);
  });

  it('replaces direction and time that a poll had to assume, once a poll can read them', async () => {
    const [connection, message] = [newId(), newId()];
    const poll = (facts: Partial<MessageFacts>) =>
      commitBatch(database, { now: T0, messages: [polled(connection, message, facts)] });
    await poll({ direction: 'incoming', createdAt: T0, certain: false });
    await poll({ direction: 'incoming', createdAt: T0 - 9_000, certain: false });
    expect(await readMessages(database)).toMatchObject([
      { direction: 'incoming', created_at: T0, polled: false },
    ]);
    await poll({ direction: 'outgoing', createdAt: T0 - 5_000, status: 'read' });
    await poll({ direction: 'incoming', createdAt: T0 - 7_000 });
    expect(await readMessages(database)).toMatchObject([
      { direction: 'outgoing', created_at: T0 - 5_000, status: 'read', polled: true },
    ]);
    expect(await changeTypes()).toEqual([
      'connection.updated',
      'message.created',
      'message.status',
      'message.updated',
    ]);
  });

  it('keeps the time of an event if a poll cannot read one', async () => {
    const [connection, message] = [newId(), newId()];
    await commit({ message: received(connection, message, { createdAt: T0 }) });
    const facts = polled(connection, message, { createdAt: T0 - 9_000, certain: false });
    await commitBatch(database, { now: T0, messages: [facts] });
    expect(await readMessages(database)).toMatchObject([{ created_at: T0, polled: false }]);
  });

  it('stores no status of an incoming message, in one batch or in two', async () => {
    const [connection, message] = [newId(), newId()];
    await commit(
      { message: received(connection, message) },
      { message: status(connection, message, 'read', T0) },
    );
    await commit({ message: status(connection, message, 'failed', T0) });
    expect(await readMessages(database)).toMatchObject([{ direction: 'incoming', status: null }]);
    expect(await changeTypes()).toEqual(['connection.updated', 'message.created']);
  });

  it('keeps the first value that a source has reported for a field', async () => {
    const [connection, message] = [newId(), newId()];
    await commit({ message: received(connection, message, { text: 'first', waMessageId: null }) });
    await commit({ message: received(connection, message, { text: 'second', waMessageId: 'wa-1' }) });
    await commit(
      { message: received(connection, message, { waMessageId: 'wa-2' }) },
      { message: received(connection, message, { waMessageId: 'wa-3' }) },
    );
    expect(await readMessages(database)).toMatchObject([{ text: 'first', wa_message_id: 'wa-1' }]);
  });

  it('reports the status before and after, and nothing for a late event', async () => {
    const [connection, message] = [newId(), newId()];
    await commit({ message: status(connection, message, 'sent', T0) });
    await commit({ message: status(connection, message, 'read', T0 + 2) });
    const straggler = await commit({ message: status(connection, message, 'delivered', T0 + 1) });
    expect(straggler.outcomes).toEqual({ unchanged: 1 });
    expect(straggler.masks).toEqual(new Map([[CHANGE.bookkeeping, 1]]));
    const told = (await readAllChanges(database)).filter((change) => change.type === 'message.status');
    expect(told.map((change) => change.data)).toEqual([{ status: 'read', previous: 'sent' }]);
    expect(await readMessages(database)).toMatchObject([
      { webhook_seen: WEBHOOK_SEEN.sent | WEBHOOK_SEEN.delivered | WEBHOOK_SEEN.read },
    ]);
  });

  it('applies the statuses of one batch in the order of their timestamps', async () => {
    proves('delivery.order');
    const [connection, message] = [newId(), newId()];
    await commit(
      { message: status(connection, message, 'failed', T0 + 3) },
      { message: status(connection, message, 'sent', T0 + 1) },
      { message: status(connection, message, 'read', T0 + 2) },
    );
    expect(await readMessages(database)).toMatchObject([{ status: 'read', status_conflict: true }]);
  });

  it('stores NUL and lone surrogates in derived text as U+FFFD', async () => {
    const [connection, message] = [newId(), newId()];
    await commit({ message: received(connection, message, { text: 'a\0b\ud800c\udfffd 👋', peer: '1\0' }) });
    expect(await readMessages(database)).toMatchObject([
      { text: 'a\ufffdb\ufffdc\ufffdd 👋', peer: '1\ufffd' },
    ]);
  });

  it('agrees with the status pattern for all pairs', async () => {
    proves('status.consumer.rank', 'status.consumer.never-back');
    const all = [null, 'sent', 'delivered', 'read', 'failed'] as const;
    const pairs = all.flatMap((current) => all.map((update) => ({ current, update, id: newId() })));
    const connection = newId();
    const told = (id: string, reached: MessageStatus | null) =>
      polled(connection, id, { direction: 'outgoing', status: reached });
    await commitBatch(database, { now: T0, messages: pairs.map(({ id, current }) => told(id, current)) });
    const later = T0 + 1;
    const masks = new Map<string, number>();
    for (const { id, update } of pairs) {
      const changed = await commitBatch(database, { now: later, messages: [told(id, update)] });
      masks.set(id, changed.masks.keys().next().value ?? 0);
    }
    const rows = new Map((await readMessages(database)).map((row) => [row.id, row]));
    for (const { current, update, id } of pairs) {
      const row = rows.get(id);
      const mask = masks.get(id) ?? 0;
      expect({
        current,
        update,
        status: row?.status,
        changed: (mask & CHANGE.status) !== 0,
        conflict: (mask & CHANGE.conflict) !== 0,
      }).toEqual({ current, update, ...applyStatus(current, update) });
    }
  });

  it('counts a conflict once', async () => {
    const [connection, message] = [newId(), newId()];
    await commit({ message: status(connection, message, 'failed') });
    const met = await commit({ message: status(connection, message, 'read') });
    const again = await commit({ message: status(connection, message, 'read') });
    expect(met.masks).toEqual(new Map([[CHANGE.bookkeeping | CHANGE.conflict, 1]]));
    expect(again.masks).toEqual(new Map());
    expect(await readMessages(database)).toMatchObject([{ status: 'failed', status_conflict: true }]);
  });
});

describe('connections and their accounts', () => {
  beforeAll(async () => {
    await database.query(
      `INSERT INTO connector.accounts (id, kind, subscription_id, created_at)
       SELECT id, 'api_key', id, 1 FROM unnest($1::text[]) id`,
      [[ACCOUNT, 'account-2']],
    );
  });

  it('creates the row of an unknown connection before it is listed', async () => {
    const connection = newId();
    await commit({ message: received(connection, newId()) }, { message: received(connection, newId()) });
    expect(await readConnection(connection)).toMatchObject({
      account_id: ACCOUNT,
      listed_at: null,
      version: 1,
    });
    expect((await changeTypes()).filter((type) => type === 'connection.updated')).toHaveLength(1);
  });

  it('logs and counts an event for a connection of another account, and merges nothing of it', async () => {
    const connection = newId();
    await commit({ message: received(connection, newId()) });
    const changesBefore = await readAllChanges(database);
    const foreign = await commit(
      { message: received(connection, newId(), { accountId: 'account-2' }) },
      { connection: outage(connection, T0, { accountId: 'account-2' }) },
    );
    expect(foreign.outcomes).toEqual({ foreign: 2 });
    expect(await readMessages(database)).toHaveLength(1);
    expect(await readAllChanges(database)).toEqual(changesBefore);
    expect((await readConnection(connection))?.last_event_at).toBeNull();
    expect((await readLog(database)).map((row) => row.outcome)).toEqual(['merged', 'foreign', 'foreign']);
  });

  it('assigns the connection of a removed account to the account whose event names it next', async () => {
    const [connection, message, next] = [newId(), newId(), newId()];
    await commit({ message: status(connection, message, 'sent', T0) });
    await releaseConnections(database, ACCOUNT, T0);
    const result = await commit(
      { message: received(connection, next, { accountId: 'account-2' }) },
      { message: { ...status(connection, message, 'read', T0), accountId: 'account-2' } },
    );
    expect(result.outcomes).toEqual({ merged: 2 });
    expect((await commit({ message: received(connection, newId()) })).outcomes).toEqual({ foreign: 1 });
    expect(await readConnection(connection)).toMatchObject({
      account_id: 'account-2',
      listed_at: null,
      visible: true,
    });
    expect(await readMessages(database)).toMatchObject(
      [
        { id: message, status: 'read' },
        { id: next, account_id: 'account-2', peer: expect.any(String) },
      ].sort((a, b) => a.id.localeCompare(b.id)),
    );
  });

  it('applies an event of a connection of a removed account for the account that takes it over', async () => {
    const [connection, second, message] = [newId(), newId(), newId()];
    await commit({ connection: outage(connection, T0) });
    await releaseConnections(database, ACCOUNT, T0);
    const late = { ...recovery(connection, T0 - 1), accountId: 'account-2' };
    expect((await commit({ connection: late })).outcomes).toEqual({ merged: 1 });
    expect(await readConnection(connection)).toMatchObject({
      account_id: 'account-2',
      needs_reconnect: true,
    });
    await releaseConnections(database, 'account-2', T0);
    const result = await commit(
      { connection: recovery(connection, T0 + 1) },
      { message: received(connection, message) },
    );
    expect(result.outcomes).toEqual({ merged: 2 });
    expect(await readConnection(connection)).toMatchObject({
      account_id: ACCOUNT,
      visible: true,
      status: 'connected',
      needs_reconnect: false,
      reason: null,
      last_event_at: T0 + 1,
    });
    const told = (await readAllChanges(database)).filter((row) => row.connection_id === connection);
    expect(told.map(({ data }) => data['needsReconnect'])).toEqual([true, true, false, undefined]);
    await commit({ connection: recovery(second, T0) });
    await releaseConnections(database, ACCOUNT, T0);
    const own = [connection, second].map((id) => ({ connection: outage(id, T0 + 2) }));
    expect((await commit(...own)).outcomes).toEqual({ merged: 2 });
    expect(await readConnection(second)).toMatchObject({ visible: true, needs_reconnect: true });
  });

  it('leaves the connection of a removed account hidden, whatever arrives late for it or for no account', async () => {
    const [connection, late, next] = [newId(), newId(), newId()];
    const [removed, nobody] = [{ accountId: 'removed' }, { accountId: 'unclaimed:app' }];
    await commit({ message: received(connection, newId(), removed) });
    await releaseConnections(database, 'removed', T0);
    const before = await readConnection(connection);
    const result = await commit(
      { message: received(connection, late, removed) },
      { message: received(connection, newId(), nobody) },
      { connection: outage(connection, T0, nobody) },
    );
    expect(result.outcomes).toEqual({ merged: 1, foreign: 2 });
    expect(await readConnection(connection)).toEqual(before);
    const taken = await commit(
      { message: status(connection, late, 'sent', T0, removed) },
      { message: received(connection, next) },
    );
    expect(taken.outcomes).toEqual({ foreign: 1, merged: 1 });
    expect(await readConnection(connection)).toMatchObject({ account_id: ACCOUNT, visible: true });
  });

  it('assigns a message that no account had claimed to the account that reports it', async () => {
    const [connection, message] = [newId(), newId()];
    const nobody = { accountId: 'unclaimed:app' };
    await commit({ message: received(connection, message, nobody) });
    await database.query('UPDATE connector.connections SET account_id = $1', [ACCOUNT]);
    const told = { now: T0, messages: [polled(connection, message)], via: 'coverage' };
    await commitBatch(database, told);
    await commitBatch(database, told);
    expect(await readMessages(database)).toMatchObject([{ account_id: ACCOUNT, peer: '15551234567' }]);
    const changes = await database.query(
      'SELECT type, account_id AS account FROM connector.changes WHERE message_id = $1 ORDER BY batch',
      [message],
    );
    expect(changes).toEqual([
      { type: 'message.created', account: nobody.accountId },
      { type: 'message.updated', account: ACCOUNT },
    ]);
  });

  it('assigns an unknown connection to one of two accounts in the same batch', async () => {
    const [connection, message] = [newId(), newId()];
    const result = await commit(
      { message: received(connection, message, { accountId: 'account-2' }) },
      { message: received(connection, message) },
    );
    expect(result.outcomes).toEqual({ merged: 1, foreign: 1 });
    expect(await readMessages(database)).toHaveLength(1);
  });

  it('orders connection events by their payload time, and reports each change once', async () => {
    proves('delivery.order', 'events.disconnected.drives');
    const connection = newId();
    await commit({ connection: outage(connection, T0 + 1_000) });
    expect(await readConnection(connection)).toMatchObject({
      status: 'disconnected',
      needs_reconnect: true,
      reason: 'AUTH_LOST',
      phone_number: '4917012345678',
      last_event_at: T0 + 1_000,
    });
    expect((await commit({ connection: outage(connection, T0 + 1_000) })).outcomes).toEqual({ unchanged: 1 });
    expect((await commit({ connection: recovery(connection, T0 + 2_000) })).outcomes).toEqual({ merged: 1 });
    expect((await commit({ connection: outage(connection, T0 + 1_500) })).outcomes).toEqual({ unchanged: 1 });
    expect(await readConnection(connection)).toMatchObject({
      status: 'connected',
      needs_reconnect: false,
      reason: null,
      version: 2,
    });
    expect(await changeTypes()).toEqual(['connection.updated', 'connection.updated']);
  });

  it('applies a recovery after an outage of the same millisecond, in either order of arrival', async () => {
    const [first, second] = [newId(), newId()];
    await commit({ connection: outage(first, T0) });
    await commit({ connection: recovery(first, T0) });
    await commit({ connection: recovery(second, T0) });
    await commit({ connection: outage(second, T0) });
    expect(await readConnection(first)).toMatchObject({ status: 'connected' });
    expect(await readConnection(second)).toMatchObject({ status: 'connected' });
  });

  it('applies the newest of several events in a batch', async () => {
    const connection = newId();
    const result = await commit(
      { connection: recovery(connection, T0 + 2) },
      { connection: outage(connection, T0 + 1) },
      { message: received(connection, newId()) },
    );
    expect(result.outcomes).toEqual({ merged: 2, unchanged: 1 });
    expect(await readConnection(connection)).toMatchObject({ status: 'connected', last_event_at: T0 + 2 });
  });

  it('raises a serialization failure if another statement concurrently creates the connection of an event', async () => {
    const connection = newId();
    const insert = `INSERT INTO connector.connections (connection_id, account_id, updated_at) VALUES ($1, $2, 0)`;
    let blocked: Promise<unknown> = Promise.resolve();
    await database.transaction(async (tx) => {
      await tx.query(insert, [connection, ACCOUNT]);
      blocked = commit({ connection: outage(connection, T0) }).catch((error: unknown) => error);
      while ((await countWaiting(database)) === 0);
    });
    expect(await blocked).toMatchObject({ code: '40001' });
    expect((await commit({ connection: outage(connection, T0) })).outcomes).toEqual({ merged: 1 });
  });

  it('merges a message whose connection another statement concurrently creates', async () => {
    const connection = newId();
    let blocked: Promise<{ outcomes: unknown }> | undefined;
    await database.transaction(async (tx) => {
      await tx.query(
        `INSERT INTO connector.connections (connection_id, account_id, updated_at) VALUES ($1, $2, 0)`,
        [connection, ACCOUNT],
      );
      blocked = commit({ message: received(connection, newId()) });
      while ((await countWaiting(database)) === 0);
    });
    expect((await blocked)?.outcomes).toEqual({ merged: 1 });
    expect(await changeTypes()).toEqual(['message.created']);
  });
});

describe('the raw log', () => {
  it('stores the raw bytes, also of deliveries that change nothing', async () => {
    const body = Buffer.from([0x7b, 0x00, 0xff, 0x7d]);
    const base = { subscriptionId: 's', accountId: ACCOUNT, receivedAt: T0, signedAt: T0, body };
    const result = await commitBatch(database, {
      now: T0,
      deliveries: [
        { ...base, event: 'test.unknown\0', outcome: 'unknown_event' },
        { ...base, event: 'message.received', outcome: 'invalid', reason: 'message.id: is missing' },
      ],
    });
    expect(result.outcomes).toEqual({ unknown_event: 1, invalid: 1 });
    expect(await readLog(database)).toEqual([
      {
        event: 'test.unknown\ufffd',
        outcome: 'unknown_event',
        reason: null,
        change_mask: 0,
        body,
        message_id: null,
      },
      {
        event: 'message.received',
        outcome: 'invalid',
        reason: 'message.id: is missing',
        change_mask: 0,
        body,
        message_id: null,
      },
    ]);
  });

  it.each([
    ['text of several bytes a character', ['\ufeff{"a":"Grüße 👋"}', '{}', '"\uffff\u{10ffff}"', '']],
    ['text with a NUL', ['{"a":"Grüße\0"}', '{}']],
    ['what is no UTF-8', [Buffer.from([0xc3, 0x28, 0xed, 0xa0, 0x80]), '{"a":"ü"}']],
  ])('stores bodies of %s separately, byte for byte', async (_, written) => {
    const bodies = written.map((body) => Buffer.from(body));
    await commitBatch(database, {
      now: T0,
      deliveries: bodies.map((body) => ({
        subscriptionId: 's',
        accountId: ACCOUNT,
        receivedAt: T0,
        signedAt: T0,
        body,
        event: null,
        outcome: 'unknown_event',
      })),
    });
    expect((await readLog(database)).map(({ body }) => body)).toEqual(bodies);
  });
});

describe('a fenced batch', () => {
  const hold = (fence: number) =>
    database.query(
      `INSERT INTO connector.leases (name, owner, fence) OVERRIDING SYSTEM VALUE VALUES ('poll', 'me', $1)`,
      [fence],
    );
  const batch = (connection: string, message: string) => ({
    now: T0,
    messages: [polled(connection, message)],
    fence: { lease: 'poll', fence: 7 },
    also: {
      ctes: `progress AS (UPDATE connector.leases SET owner = $1::text
               WHERE name = $2::text AND EXISTS (SELECT FROM guard)
                 AND (SELECT count(*) FROM merged) = $3::int RETURNING 1)`,
      params: ['written', 'poll', 1],
    },
  });

  it('is written, with everything that belongs to it, while the lease is held', async () => {
    await hold(7);
    const result = await commitBatch(database, batch(newId(), newId()));
    expect(result.applied).toBe(true);
    expect(await readMessages(database)).toHaveLength(1);
    expect(await database.query('SELECT owner FROM connector.leases')).toEqual([{ owner: 'written' }]);
  });

  it('writes nothing once the lease has another holder', async () => {
    await hold(8);
    const result = await commitBatch(database, batch(newId(), newId()));
    expect(result).toEqual({ applied: false, masks: new Map(), outcomes: {} });
    expect(await readMessages(database)).toEqual([]);
    expect(await readAllChanges(database)).toEqual([]);
    expect(await database.query('SELECT FROM connector.connections')).toEqual([]);
    expect(await database.query('SELECT owner FROM connector.leases')).toEqual([{ owner: 'me' }]);
  });

  it('writes nothing if the lease does not exist', async () => {
    expect((await commitBatch(database, batch(newId(), newId()))).applied).toBe(false);
    expect(await readMessages(database)).toEqual([]);
  });
});
