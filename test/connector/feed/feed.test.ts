import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { deleteOldChanges } from '../../../src/connector/db/delete-old-changes.ts';
import { createFeed, type Feed } from '../../../src/connector/feed/feed.ts';
import { erasePerson } from '../../../src/connector/people/erase-person.ts';
import { change as changeSchema } from '../../../src/contract/connector/changes.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { openPool } from '../../support/database.ts';
import { collectLog } from '../../support/log-to.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { aroundQueries } from '../../support/replace-calls.ts';
import {
  ACCOUNT,
  databaseOfFile,
  delivery,
  emptyTables,
  newId,
  outage,
  polled,
  silentLogger,
  status,
  T0,
} from '../support/event-fixtures.ts';
import { collect, seqs, writeMessages } from '../support/feed-reader.ts';

const database = databaseOfFile();
let clock: ManualClock;
let feed: Feed;

beforeEach(async () => {
  await emptyTables(database);
  clock = new ManualClock();
  feed = createFeed({ database, clock, logger: silentLogger });
});
afterEach(() => feed.close());

const write = (ids: readonly string[], connection?: string, db: Database = database) =>
  writeMessages(db, ids, connection);

const upTo = (n: number) => Array.from({ length: n }, (_, index) => index + 1);

describe('the feed', () => {
  it('shows each type of change in the shape of the contract', async () => {
    const [connection, message] = [newId(), newId()];
    const told = [
      { message: status(connection, message, 'sent') },
      { message: status(connection, message, 'read', T0 + 1) },
      { connection: outage(connection, T0) },
      { connection: outage(newId(), T0, { licenseExpires: null }) },
    ];
    for (const facts of told) await commitBatch(database, { now: T0, deliveries: [delivery(facts)] });
    await commitBatch(database, {
      now: T0,
      messages: [polled(connection, message, { text: 'Hi', createdAt: T0 - 5 })],
    });
    await feed.settle();
    const { changes } = await feed.pageAfter(0, 100);
    expect(changes.map((change) => changeSchema.parse(change))).toEqual(changes);
    expect(changes.map((change) => change.type)).toEqual([
      'connection.updated',
      'message.created',
      'message.status',
      'connection.updated',
      'connection.updated',
      'message.updated',
    ]);
    expect(changes[1]).toEqual({
      seq: 2,
      type: 'message.created',
      at: '2026-01-15T12:00:00.000Z',
      accountId: ACCOUNT,
      connectionId: connection,
      messageId: message,
      data: {
        id: message,
        connectionId: connection,
        direction: 'outgoing',
        peer: null,
        personKey: null,
        text: null,
        mediaUrl: null,
        mediaType: null,
        mediaCopy: null,
        status: 'sent',
        errorMessage: null,
        createdAt: '2026-01-15T12:00:00.000Z',
        firstSeenBy: 'webhook',
        historic: false,
        origin: 'unknown',
        reference: null,
      },
    });
    expect(changes[2]?.data).toEqual({ status: 'read', previous: 'sent', historic: false });
    expect(changes[3]?.data).toMatchObject({
      id: connection,
      accountId: ACCOUNT,
      status: 'disconnected',
      needsReconnect: true,
      licenseExpires: '2026-01-16T12:00:00.000Z',
      updatedAt: '2026-01-15T12:00:00.000Z',
    });
    expect(changes[5]?.data).toMatchObject({
      text: 'Hi',
      status: 'read',
      createdAt: '2026-01-15T11:59:59.995Z',
    });
  });

  it('is paged by seq and can be filtered by account or connection', async () => {
    await write(['a', 'b'], 'one');
    await write(['c'], 'two');
    await commitBatch(database, { now: T0, messages: [polled('three', 'd', { accountId: 'account-2' })] });
    await feed.settle();
    expect(seqs((await feed.pageAfter(0, 3)).changes)).toEqual([1, 2, 3]);
    expect(seqs((await feed.pageAfter(3, 3)).changes)).toEqual([4, 5, 6]);
    expect(seqs((await feed.pageAfter(0, 9, { connectionId: 'two' })).changes)).toEqual([4, 5]);
    expect(seqs((await feed.pageAfter(0, 9, { accountId: 'account-2' })).changes)).toEqual([6, 7]);
    expect((await feed.pageAfter(0, 9, { accountId: 'account-2', connectionId: 'two' })).changes).toEqual([]);
    expect(await feed.position()).toMatchObject({
      lastSeq: 7,
      feedId: expect.stringMatching(/^[0-9a-f]{12}$/),
    });
  });

  it('delivers existing changes and then new ones, in order and once', async () => {
    await write(['a', 'b']);
    await feed.settle();
    const reader = collect();
    const stop = new AbortController();
    const over = feed.subscribe(0, reader.take, stop.signal);
    await reader.count(3);
    for (const id of ['c', 'd', 'e']) {
      await write([id]);
      await feed.settle();
    }
    await reader.count(6);
    stop.abort();
    await over;
    expect(seqs(reader.seen)).toEqual(upTo(6));
  });

  it('resumes after the last seq that a reader has read', async () => {
    await write(upTo(250).map(String));
    await feed.settle();
    const reader = collect();
    const stop = new AbortController();
    const over = feed.subscribe(200, reader.take, stop.signal);
    await reader.count(51);
    stop.abort();
    await over;
    expect(seqs(reader.seen)).toEqual(upTo(251).slice(200));
  });

  it('waits for a seq that is not assigned yet', async () => {
    const reader = collect();
    const stop = new AbortController();
    const over = feed.subscribe(2, reader.take, stop.signal);
    await write(['a', 'b', 'c']);
    await feed.settle();
    await reader.count(2);
    stop.abort();
    await over;
    expect(seqs(reader.seen)).toEqual([3, 4]);
  });

  it('serves a reader that is behind the changes in memory from the database, also with a filter', async () => {
    const all = collect();
    const some = collect();
    const stop = new AbortController();
    const live = feed.subscribe(0, () => undefined, stop.signal);
    for (let turn = 0; turn < 6; turn += 1) {
      await write(
        upTo(900).map((n) => `${turn}-${n}`),
        'busy',
      );
      await write([`quiet-${turn}`], 'quiet');
      await feed.settle();
    }
    const total = 6 * 901 + 2;
    const readers = [
      feed.subscribe(0, all.take, stop.signal),
      feed.subscribe(0, some.take, stop.signal, { connectionId: 'quiet' }),
    ];
    await all.count(total);
    await some.count(7);
    stop.abort();
    await Promise.all([live, ...readers]);
    expect(seqs(all.seen)).toEqual(upTo(total));
    expect(some.seen.every((change) => change.connectionId === 'quiet')).toBe(true);
  });

  it('shows nobody the texts of an erased person, which were in memory before', async () => {
    const [live, late] = [collect(), collect()];
    const stop = new AbortController();
    const readers = [feed.subscribe(0, live.take, stop.signal)];
    await commitBatch(database, { now: T0, messages: [polled('connection', 'a', { peer: '15551234567' })] });
    await feed.settle();
    await live.count(2);
    await erasePerson({ database, mediaStore: null }, '15551234567', T0);
    await feed.settle();
    await live.count(3);
    readers.push(feed.subscribe(0, late.take, stop.signal));
    await late.count(3);
    stop.abort();
    await Promise.all(readers);
    expect(seqs(late.seen)).toEqual([1, 2, 3]);
    expect(late.seen[1]).toMatchObject({ type: 'message.created', data: { peer: null, text: null } });
  });

  it('buffers only a few changes for a slow reader until it has read them', async () => {
    const calls: number[] = [];
    let release = (): void => undefined;
    const stop = new AbortController();
    const entered = new EventTarget();
    const over = feed.subscribe(
      0,
      (changes) => {
        calls.push(changes.length);
        entered.dispatchEvent(new Event('call'));
        return new Promise<void>((resolve) => {
          release = resolve;
        });
      },
      stop.signal,
    );
    const first = once(entered, 'call');
    await write(upTo(1_000).map(String));
    await feed.settle();
    await first;
    await feed.settle();
    expect(calls).toHaveLength(1);
    expect(calls[0]).toBeLessThanOrEqual(100);
    const second = once(entered, 'call');
    release();
    await second;
    expect(calls).toHaveLength(2);
    stop.abort();
    release();
    await over;
  });

  it('includes what another process has committed and numbered, and what a dead process left unnumbered', async () => {
    const other = openPool(database.url);
    const otherFeed = createFeed({ database: other, clock: systemClock, logger: silentLogger });
    feed.start();
    const reader = collect();
    const stop = new AbortController();
    const over = feed.subscribe(0, reader.take, stop.signal);
    await feed.settle();

    await write(['a'], 'connection', other);
    await otherFeed.settle();
    await clock.advance(100);
    await reader.count(2);

    await write(['b'], 'connection', other);
    await clock.advance(100);
    await feed.settle();
    await reader.count(3);
    expect(seqs(reader.seen)).toEqual([1, 2, 3]);
    stop.abort();
    await over;
    await otherFeed.close();
    await other.close();
  });

  it('ends its subscriptions when it is closed', async () => {
    const over = feed.subscribe(0, () => undefined, new AbortController().signal);
    await feed.close();
    await expect(over).resolves.toBeUndefined();
    expect(clock.pending).toBe(0);
  });

  it('passes on an error that a reader throws', async () => {
    await write(['a']);
    await feed.settle();
    const over = feed.subscribe(0, () => Promise.reject(new Error('full')), new AbortController().signal);
    await expect(over).rejects.toThrow('full');
  });

  it.each([1, 2, 3, 4])('ends rather than skip what is deleted before statement %i', async (at) => {
    for (const id of ['a', 'b', 'c']) await write([id]);
    await feed.settle();
    const stop = new AbortController();
    let statements = 0;
    const deleting = aroundQueries(database, async (_text, run) => {
      statements += 1;
      if (statements === at)
        await deleteOldChanges(database, { before: T0 + 1, needed: async () => null, stopping: stop.signal });
      return await run();
    });
    const cut = createFeed({ database: deleting, clock, logger: silentLogger });
    const reader = collect();
    await Promise.race([cut.subscribe(0, reader.take, stop.signal), reader.count(1)]);
    expect(seqs(reader.seen)).toEqual([]);
    expect(statements).toBe(4);
    await cut.close();
  });

  it('waits while the database fails, says so once for each outage, and continues at its position', async () => {
    let broken = false;
    let asked = 0;
    const flaky = aroundQueries(database, async (_text, run) => {
      asked += 1;
      if (broken) throw new Error('gone');
      return await run();
    });
    const { lines, logger } = collectLog('warn');
    const shaky = createFeed({ database: flaky, clock, logger });
    await write(['a', 'b']);
    for (const outages of [1, 2]) {
      await shaky.settle();
      [broken, asked] = [true, 0];
      const reader = collect();
      const stop = new AbortController();
      const over = shaky.subscribe(0, reader.take, stop.signal);
      await expect.poll(() => lines).toHaveLength(outages);
      await clock.advance(999);
      expect(asked).toBe(1);
      broken = false;
      await clock.advance(1);
      await reader.count(3);
      expect(seqs(reader.seen)).toEqual([1, 2, 3]);
      stop.abort();
      await over;
    }
    // Nobody reads any more, so what is numbered is not read either.
    asked = 0;
    await write(['c']);
    await shaky.settle();
    expect(asked).toBe(1);
    await shaky.close();
  });
});
