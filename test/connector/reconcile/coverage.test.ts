import { beforeEach, describe, expect, it } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { outdatedDays, readProgress } from '../../../src/connector/reconcile/progress.ts';
import { DatabaseUnavailable } from '../../../src/runtime/database/database.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { proves } from '../../support/proves.ts';
import { aroundQueries } from '../../support/replace-calls.ts';
import { received } from '../support/event-fixtures.ts';
import { ACCOUNT, pollBenchOfTest } from '../support/poll-bench.ts';
import type { Fault } from '../support/scripted-service.ts';

const MINUTE = 60_000;
const bench = pollBenchOfTest();
/** Service time of the first message. */
let start: number;

beforeEach(async () => {
  start = bench.clock.now() - 24 * 60 * MINUTE;
  bench.service.addConnection('c1');
});

function addMany(count: number, from: number, stepMs: number): void {
  bench.service.addMessages('c1', count, (index) => from + index * stepMs);
}

function serviceIds(): string[] {
  return bench.service.messages.map((message) => message.id).sort();
}

async function coverage() {
  return (await readProgress(bench.database, ACCOUNT)).coverage;
}

it('what an earlier version could not read is read again from the first of its days on', async () => {
  const day = (slot: string, floor: number) => ({
    slot,
    gap: { top: floor + 1, floor, cursor: null, nextTop: null, restarts: 1 },
  });
  const unread = [day('0:2026-01-14', 200), day('0:2026-01-13', 100), day('0:2026-01-15', 300)];
  expect(outdatedDays({ ...(await readProgress(bench.database, ACCOUNT)), unread })).toEqual({
    slots: ['0:2026-01-14', '0:2026-01-13', '0:2026-01-15'],
    floor: 100,
  });
});

describe('a poll', () => {
  it('stores everything that the service has, back to the first message', async () => {
    addMany(250, start, MINUTE);
    expect(await bench.poll()).toMatchObject({ kind: 'done', cycle: { closed: true } });
    expect(await bench.storedIds()).toEqual(serviceIds());
    expect(await coverage()).toEqual({ watermark: start + 249 * MINUTE, gaps: [] });
  });

  it('logs that the first one imports old messages, and how many', async () => {
    const lines: unknown[] = [];
    const write = (line: string): void => {
      const { accountId, count, msg } = JSON.parse(line) as Record<string, unknown>;
      lines.push([accountId, count, msg]);
    };
    const logger = createLogger({ level: 'info', name: 'test', destination: { write } });
    addMany(250, start, MINUTE);
    const budget = { coverage: 1, visibility: 20, sweep: 40 };
    await bench.poll({ budget }, { logger });
    await bench.poll({}, { logger });
    expect(lines).toEqual([
      [ACCOUNT, undefined, 'the first poll of an account: it stores old messages and marks them as historic'],
      [ACCOUNT, 100, 'some old messages were imported; the next polls import the others'],
    ]);
    await bench.database.query('truncate connector.coverage, connector.gaps, connector.messages');
    await bench.database.query('update connector.poll_states set last_good_at = null');
    lines.length = 0;
    await bench.poll({}, { logger });
    expect(lines.at(-1)).toEqual([ACCOUNT, 250, 'old messages were imported']);
  });

  it('stores each message as the service has it', async () => {
    bench.service.addMessage('c1', start, { direction: 'outgoing', status: 'read', text: 'Grüße\u0000' });
    await bench.poll();
    const rows = await bench.database.query(
      `select account_id, direction, peer, text, status, created_at, first_seen_by, polled from connector.messages`,
    );
    expect(rows).toEqual([
      {
        account_id: ACCOUNT,
        direction: 'outgoing',
        peer: null,
        text: 'Grüße\ufffd',
        status: 'read',
        created_at: start,
        first_seen_by: 'poll',
        polled: true,
      },
    ]);
  });

  it('counts the incoming messages whose sender nobody reported', async () => {
    addMany(30, start, MINUTE);
    for (let index = 0; index < 5; index += 1) {
      bench.service.addSent('c1', start + index);
    }
    await bench.poll();
    await bench.poll();
    expect((await bench.metrics.render()).text).toContain('connector_messages_without_sender_total 30');
  });

  it('announces to the feed what it has stored, and nothing if there was nothing to store', async () => {
    let announced = 0;
    const onCommitted = (): void => {
      announced += 1;
    };
    addMany(3, start, MINUTE);
    // The connections, and a page of messages.
    for (const count of [2, 2]) {
      await bench.poll({}, { onCommitted });
      expect(announced).toBe(count);
    }
  });

  it('changes nothing if it is repeated', async () => {
    addMany(30, start, MINUTE);
    await bench.poll();
    const changes = 'select count(*) as count from connector.changes';
    const [before] = await bench.database.query(changes);
    await bench.poll();
    expect(await bench.database.query(changes)).toEqual([before]);
  });

  it('stores no status for an incoming message, and reports nothing about one that a webhook delivered', async () => {
    const sent = (messageId: string, text: string | null) =>
      received('c1', messageId, { accountId: ACCOUNT, text, createdAt: start });
    const brought = bench.service.addMessage('c1', start, { direction: 'incoming', status: 'delivered' });
    const missed = bench.service.addMessage('c1', start, { direction: 'incoming', status: 'read' });
    await commitBatch(bench.database, { now: start, messages: [sent(brought.id, brought.text)] });
    await bench.poll();
    const told = await bench.database.query(
      `select type, message_id as id, status from connector.changes where message_id is not null order by batch, position`,
    );
    expect(told).toEqual([
      { type: 'message.created', id: brought.id, status: null },
      { type: 'message.created', id: missed.id, status: null },
    ]);
    expect(await bench.database.query('select id from connector.messages where status is not null')).toEqual(
      [],
    );
  });

  it('shows how far the watermark is behind, in seconds, until all pages are read', async () => {
    const lag = () => bench.metrics.read('connector_coverage_lag_seconds');
    addMany(1, start, MINUTE);
    await bench.poll();
    addMany(150, start + 10 * MINUTE, MINUTE);
    await bench.poll({ budget: { coverage: 1, visibility: 20, sweep: 40 } });
    expect(await lag()).toMatchObject([{ value: 159 * 60 }]);
    await bench.poll();
    expect(await lag()).toMatchObject([{ value: 0 }]);
  });

  it('reads no further than necessary', async () => {
    addMany(1_000, start, MINUTE);
    await bench.poll();
    bench.service.requests = [];
    addMany(5, start + 1_000 * MINUTE, MINUTE);
    await bench.poll();
    expect(await bench.storedIds()).toEqual(serviceIds());
    expect(bench.service.countRequests('/messages')).toBe(2);
  });

  it.each([
    ['erased', 'update connector.messages set erased = true where id = $1'],
    [
      'dropped with its period',
      'with gone as (delete from connector.messages where id = $1 returning id, connection_id) insert into connector.expired_messages select * from gone',
    ],
  ])('reads one page although a message on it was %s before a poll had read it', async (_how, statement) => {
    addMany(300, start, MINUTE);
    await bench.poll();
    const { id } = bench.service.addMessage('c1', start + 300 * MINUTE);
    await commitBatch(bench.database, { now: start, messages: [received('c1', id, { accountId: ACCOUNT })] });
    await bench.database.query(statement, [id]);
    await bench.poll();
    bench.service.requests = [];
    await bench.poll();
    expect(bench.service.countRequests('/messages')).toBe(1);
  });

  it('finds a dropped message that is older than one that a webhook delivered', async () => {
    proves('delivery.reconcile');
    addMany(3, start, MINUTE);
    await bench.poll();
    const dropped = bench.service.addMessage('c1', start + 10 * MINUTE);
    const brought = bench.service.addMessage('c1', start + 11 * MINUTE);
    await bench.database.query(
      `insert into connector.messages (connection_id, id, account_id, direction, created_at, first_seen_by,
         first_seen_at, polled, change_mask, webhook_seen, status_conflict, webhook_at)
       values ('c1', $1, $2, 'incoming', $3, 'webhook', $3, false, 13, 1, false, $3)`,
      [brought.id, ACCOUNT, brought.createdAt],
    );
    await bench.poll();
    expect(await bench.storedIds()).toContain(dropped.id);
  });

  it('passes thousands of messages with the same time', async () => {
    bench.service.addMessages('c1', 2_500, () => start);
    expect(await bench.poll()).toMatchObject({ kind: 'done', cycle: { closed: true } });
    bench.service.addMessages('c1', 1_500, () => start);
    expect(await bench.poll()).toMatchObject({ kind: 'done', cycle: { closed: true } });
    expect((await bench.storedIds()).length).toBe(4_000);
  });

  it('misses nothing that is inserted during the walk', async () => {
    addMany(600, start, MINUTE);
    let inserted = 0;
    bench.service.onRequest = (request) => {
      if (request.path !== '/messages' || inserted >= 50) return;
      inserted += 10;
      addMany(10, start + 600 * MINUTE + inserted, 1);
    };
    await bench.poll();
    bench.service.onRequest = () => undefined;
    await bench.poll();
    expect(inserted).toBe(50);
    expect(await bench.storedIds()).toEqual(serviceIds());
  });

  it('skips a record that it cannot read and stores the others', async () => {
    addMany(3, start, MINUTE);
    const odd = bench.service.messages[1];
    if (odd !== undefined) odd.id = 'not an id';
    expect(await bench.poll()).toMatchObject({ kind: 'done' });
    expect(await bench.storedIds()).toHaveLength(2);
    expect((await bench.metrics.render()).text).toContain('connector_poll_invalid_total{what="record"} 1');
  });
});

describe('a record that is written differently', () => {
  it.each([
    ['an offset without colon', { createdAt: '2026-01-14T12:01:00+0000' }],
    ['a short offset', { createdAt: '2026-01-14T12:01:00+00' }],
    ['no zone', { createdAt: '2026-01-14T12:01:00' }],
    ['milliseconds', { createdAt: Date.UTC(2026, 0, 14, 12, 1) }],
    ['a direction in capitals', { direction: 'INCOMING' }],
    ['an id that is a number', { id: 4711 }],
    ['an object as its text', { text: {} }],
  ])('is stored with its time: %s', async (_, shown) => {
    const at = Date.UTC(2026, 0, 14, 12);
    for (const index of [0, 2]) bench.service.addMessage('c1', at + index * MINUTE);
    bench.service.addMessage('c1', at + MINUTE, { shown });
    expect(await bench.poll()).toMatchObject({ kind: 'done', cycle: { closed: true } });
    const rows = await bench.database.query(
      'select created_at, polled from connector.messages order by created_at',
    );
    expect(rows).toEqual([0, 1, 2].map((index) => ({ created_at: at + index * MINUTE, polled: true })));
  });

  it('has the time of the message before it if its own cannot be read, until the service corrects it', async () => {
    addMany(3, start, MINUTE);
    const [, odd] = bench.service.messages;
    if (odd === undefined) return expect.fail('no message');
    odd.shown = { createdAt: 'this morning' };
    const read = () =>
      bench.database.query(`select created_at, polled from connector.messages where id = '${odd.id}'`);
    await bench.poll();
    expect(await read()).toEqual([{ created_at: start + 2 * MINUTE, polled: false }]);
    const { length } = bench.service.requests;
    await bench.poll();
    expect(bench.service.requests.slice(length).map(({ path }) => path)).toEqual([
      '/connections',
      '/messages',
    ]);
    delete odd.shown;
    await bench.poll();
    expect(await read()).toEqual([{ created_at: start + MINUTE, polled: true }]);
  });

  it('has the time of the poll if the list contains no time that can be read', async () => {
    bench.service.addMessage('c1', start, { shown: { createdAt: null } });
    expect(await bench.poll()).toMatchObject({ kind: 'done', cycle: { closed: true } });
    const rows = await bench.database.query('select created_at, polled from connector.messages');
    expect(rows).toEqual([{ created_at: bench.clock.now(), polled: false }]);
    const fresh = bench.service.addMessage('c1', bench.clock.now());
    await bench.poll();
    expect(await bench.storedIds()).toContain(fresh.id);
  });

  it('is assumed to be incoming if its direction is unknown, until the service corrects it', async () => {
    const odd = bench.service.addSent('c1', start, 'read');
    odd.shown = { direction: 'sideways' };
    const read = () => bench.database.query('select direction, status, polled from connector.messages');
    await bench.poll();
    expect(await read()).toEqual([{ direction: 'incoming', status: null, polled: false }]);
    delete odd.shown;
    await bench.poll();
    expect(await read()).toEqual([{ direction: 'outgoing', status: 'read', polled: true }]);
  });

  it('is stored although the cursor of its page cannot be read; the poll fails', async () => {
    addMany(2, start, MINUTE);
    bench.service.fault = ({ path }) => {
      if (path !== '/messages') return undefined;
      const messages = bench.service.messages.map((message) => ({
        ...message,
        createdAt: new Date(message.createdAt).toISOString(),
      }));
      return { status: 200, body: { messages, nextCursor: { page: 2 }, hasMore: true } };
    };
    expect(await bench.poll()).toMatchObject({ kind: 'failed' });
    expect(await bench.storedIds()).toHaveLength(2);
  });

  it('is left out without an id; its day is noted, and read again by a newer reader', async () => {
    addMany(3, start, MINUTE);
    const [, odd] = bench.service.messages;
    if (odd === undefined) return expect.fail('no message');
    odd.shown = { id: {} };
    const noted = async () => (await readProgress(bench.database, ACCOUNT)).unread.map(({ slot }) => slot);
    await bench.poll();
    await bench.poll();
    expect(await noted()).toEqual([`2:${new Date(start).toISOString().slice(0, 10)}`]);
    expect(await bench.storedIds()).toHaveLength(2);
    // A newer message, so that the day is no longer on the page that every poll reads.
    bench.service.addMessages('c1', 250, (index) => bench.clock.now() - index * MINUTE);
    await bench.poll();
    delete odd.shown;
    await bench.poll();
    expect(await bench.storedIds()).not.toContain(odd.id);
    await bench.database.query(
      `update connector.gaps set slot = '1:' || substr(slot, 3) where kind = 'unread'`,
    );
    await bench.poll();
    expect(await bench.storedIds()).toContain(odd.id);
    expect(await noted()).toEqual([]);
  });

  it('is read again by a newer reader that finds a gap open', async () => {
    bench.service.pageSize = 5;
    addMany(30, start, MINUTE);
    const [, odd] = bench.service.messages;
    if (odd === undefined) return expect.fail('no message');
    odd.shown = { id: {} };
    await bench.poll();
    delete odd.shown;
    bench.service.addMessages('c1', 20, (index) => bench.clock.now() - index * MINUTE);
    const budget = { coverage: 1, visibility: 3, sweep: 3 };
    await bench.poll({ budget });
    await bench.database.query(
      `update connector.gaps set slot = '1:' || substr(slot, 3) where kind = 'unread'`,
    );
    await bench.poll({ budget });
    for (let polls = 0; polls < 3; polls += 1) await bench.poll();
    expect(await bench.storedIds()).toEqual(serviceIds());
    expect((await readProgress(bench.database, ACCOUNT)).unread).toEqual([]);
  });

  it.each(['', null, undefined])('is read from a last page whose cursor is %j', async (nextCursor) => {
    const odd = bench.service.addMessage('c1', start);
    const messages = [{ ...odd, createdAt: new Date(start).toISOString() }];
    bench.service.fault = ({ path }) =>
      path === '/messages' ? { status: 200, body: { messages, nextCursor, hasMore: 'no' } } : undefined;
    expect(await bench.poll()).toMatchObject({ kind: 'done', cycle: { closed: true } });
    expect(await bench.storedIds()).toEqual([odd.id]);
  });
});

describe('a long catch-up', () => {
  const small = { coverage: 3, visibility: 3, sweep: 3 };

  it('reads the newest page first in every period and finally closes the gap', async () => {
    addMany(1_000, start, MINUTE);
    expect(await bench.poll({ budget: small })).toMatchObject({ kind: 'done', cycle: { closed: false } });
    const fresh = bench.service.addMessage('c1', start + 1_100 * MINUTE);
    expect((await coverage()).watermark).toBeNull();
    await bench.poll({ budget: small });
    expect(await bench.storedIds()).toContain(fresh.id);
    for (let polls = 0; polls < 10; polls += 1) await bench.poll({ budget: small });
    expect(await bench.storedIds()).toEqual(serviceIds());
    expect(await coverage()).toEqual({ watermark: fresh.createdAt, gaps: [] });
  });

  /** As after an update of the service, which issues other cursors from now on. */
  async function refuseStoredCursor(fault: Fault): Promise<void> {
    const [gap] = (await coverage()).gaps;
    bench.service.expireCursors();
    bench.service.fault = ({ query }) => (query.get('cursor') === gap?.cursor ? fault : undefined);
  }

  it('reads its gap again if the cursor has expired', async () => {
    addMany(1_000, start, MINUTE);
    await bench.poll({ budget: small });
    bench.service.expireCursors();
    for (let polls = 0; polls < 6; polls += 1) await bench.poll({ budget: small });
    expect(await bench.storedIds()).toEqual(serviceIds());
    expect((await coverage()).gaps).toEqual([]);
  });

  it('reads its gap again if the stored cursor is one that the service has never issued', async () => {
    addMany(1_000, start, MINUTE);
    await bench.poll({ budget: small });
    await bench.database.query(`update connector.gaps set cursor = 'forged'`);
    await bench.poll();
    expect(await bench.storedIds()).toEqual(serviceIds());
  });

  it.each([
    [404, { error: 'not_found' }],
    [414, '<html>'],
    [431, ''],
    [422, { error: 'a_new_one' }],
  ])('reads its gap again if the service answers %i for the stored cursor', async (status, body) => {
    addMany(1_000, start, MINUTE);
    await bench.poll({ budget: small });
    await refuseStoredCursor({ status, body });
    expect(await bench.poll()).toMatchObject({ kind: 'done', cycle: { closed: true } });
    expect(await bench.storedIds()).toEqual(serviceIds());
  });

  it.each([
    [500, { error: 'internal_error' }],
    [502, '<html>'],
  ])(
    'reads its gap again once ten polls in a row have failed with %i for the stored cursor',
    async (status, body) => {
      addMany(1_000, start, MINUTE);
      await bench.poll({ budget: small });
      await refuseStoredCursor({ status, body });
      for (let polls = 0; polls < 10; polls += 1) {
        expect(await bench.poll()).toMatchObject({ kind: 'failed' });
        await bench.clock.advance(5 * MINUTE);
      }
      expect(await bench.poll()).toMatchObject({ kind: 'done', cycle: { closed: true } });
      expect(await bench.storedIds()).toEqual(serviceIds());
    },
  );

  it('treats a 400 that names another field as a failure, not as a lost cursor', async () => {
    addMany(300, start, MINUTE);
    bench.service.fault = ({ query }) =>
      query.has('cursor') ? { status: 400, body: { error: 'invalid_request', field: 'limit' } } : undefined;
    expect(await bench.poll()).toMatchObject({ kind: 'failed' });
    expect((await coverage()).gaps).toMatchObject([{ restarts: 0 }]);
  });
});

describe('a failure during a walk', () => {
  it.each([
    ['429', { status: 429, body: { error: 'rate_limited' } }],
    ['500', { status: 500, body: { error: 'internal_error' } }],
    ['a reset connection', 'reset' as const],
    ['a body that is cut off', { status: 200, body: '{"messages":[' }],
  ])('keeps the pages before it: %s', async (_what, fault) => {
    addMany(500, start, MINUTE);
    let pages = 0;
    bench.service.fault = ({ path }) => (path === '/messages' && ++pages === 3 ? fault : undefined);
    expect(await bench.poll()).toMatchObject({ kind: 'failed' });
    expect(await bench.storedIds()).toHaveLength(200);
    expect(await coverage()).toMatchObject({ watermark: null, gaps: [{ top: start + 399 * MINUTE }] });
    bench.service.requests = [];
    await bench.clock.advance(10 * MINUTE);
    expect(await bench.poll()).toMatchObject({ kind: 'done', cycle: { closed: true } });
    expect(await bench.storedIds()).toEqual(serviceIds());
    // The newest page, then on from the third: what was read is not read again.
    expect(bench.service.countRequests('/messages')).toBeLessThanOrEqual(6);
  });
});

describe('a database that loses an answer', () => {
  it.each([
    ['after it had written', true],
    ['before it wrote', false],
  ])('causes a page to be written once more, with one effect: %s', async (_what, written) => {
    addMany(250, start, MINUTE);
    let lost = 0;
    const losing = aroundQueries(bench.database, async (text, run) => {
      if (!text.includes('merged AS') || ++lost % 2 === 0) return await run();
      if (written) await run();
      throw new DatabaseUnavailable('lost', 'the connection was lost', { mayHaveCommitted: written });
    });
    expect(await bench.poll({}, { database: losing })).toMatchObject({
      kind: 'done',
      cycle: { closed: true },
    });
    // Three pages, of which some may share a statement, and the end of the sweep; each statement twice.
    expect([4, 6, 8]).toContain(lost);
    expect(await bench.storedIds()).toEqual(serviceIds());
    const created = `select count(*) as count from connector.changes where type = 'message.created'`;
    expect(await bench.database.query(created)).toEqual([{ count: 250 }]);
  });
});

describe('a poller that is replaced during a walk', () => {
  it('writes nothing more, and its successor continues from its last page', async () => {
    addMany(500, start, MINUTE);
    const frozen = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    let pages = 0;
    bench.service.onRequest = async ({ path }) => {
      if (path !== '/messages' || ++pages !== 3) return;
      reached.resolve();
      await frozen.promise;
    };
    const first = bench.poll();
    await reached.promise;
    const second = { presence: await bench.anotherProcess() };
    expect(await bench.poll({}, second)).toEqual({ kind: 'busy' });
    // A frozen process gives no sign of life.
    await bench.bury(bench.poller.presence);
    expect(await bench.poll({}, second)).toMatchObject({ kind: 'done', cycle: { closed: true } });
    const after = await coverage();
    await bench.database.query('delete from connector.messages');
    frozen.resolve();
    expect(await first).toEqual({ kind: 'stopped' });
    expect(await bench.storedIds()).toEqual([]);
    expect(await coverage()).toEqual(after);
  });
});
