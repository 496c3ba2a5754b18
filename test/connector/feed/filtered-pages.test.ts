import { beforeAll, describe, expect, it } from 'vitest';
import type { ApiParts } from '../../../src/connector/api/operations.ts';
import { operateOutbound } from '../../../src/connector/api/outbound.ts';
import { type ChangeFilter, readChangePage } from '../../../src/connector/feed/read-changes.ts';
import { deleteOldSends } from '../../../src/connector/outbox/delete-old-sends.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { countBuffers } from '../support/count-buffers.ts';
import { databaseOfFile } from '../support/event-fixtures.ts';

const CHANGES = 60_000;
const SENDS = 30_000;
/** Pages of 8 KiB; the whole feed lies on thousands, and all sends on hundreds. */
const FEW = 60;

const database = databaseOfFile();
const clock = new ManualClock();

beforeAll(async () => {
  const slowly = { deadlineMs: 60_000 };
  await database.query(
    `INSERT INTO connector.changes (batch, position, type, at, account_id, connection_id, message_id, source)
     SELECT 1 + n / 5, 1 + n % 5, 'message.status', 0, CASE WHEN n >= ${CHANGES - 2} THEN 'b' ELSE 'a' END,
            CASE WHEN n IN (10, ${CHANGES - 2}, ${CHANGES - 1}) THEN 'seldom' ELSE 'often' END, 'm', 'webhook'
       FROM generate_series(0, ${CHANGES - 1}) n`,
    [],
    slowly,
  );
  await database.query(
    `INSERT INTO connector.change_batches (id, size, changed_at, last_seq)
     SELECT n, 5, 0, n * 5 FROM generate_series(1, ${CHANGES / 5}) n`,
    [],
    slowly,
  );
  await database.query(
    `INSERT INTO connector.outbound
       (id, account_id, connection_id, reference, fingerprint, recipient, idempotency_key, state, created_at, updated_at)
     SELECT 'o' || lpad(n::text, 6, '0'), CASE WHEN n < 3 THEN 'b' ELSE 'a' END,
            CASE WHEN n < 3 THEN 'seldom' ELSE 'often' END, 'r' || n, '', '4917', 'k',
            CASE WHEN n < 3 THEN 'unknown' ELSE 'sent' END, n, n
       FROM generate_series(0, ${SENDS - 1}) n`,
    [],
    slowly,
  );
  await database.query('ANALYZE connector.changes, connector.change_batches, connector.outbound');
}, 60_000);

describe('a page of the feed', () => {
  it.each([
    ['of a connection that changes seldom', { connectionId: 'seldom' }, [11, CHANGES - 1, CHANGES]],
    ['of an account with few changes', { accountId: 'b' }, [CHANGES - 1, CHANGES]],
    ['of nothing', { connectionId: 'never' }, []],
  ] as const)('%s finds all matching changes', async (_what, filter: ChangeFilter, expected) => {
    const { changes, ...end } = await readChangePage(database, clock, 0, 10, filter);
    expect(changes.map(({ seq }) => seq)).toEqual(expected);
    expect(end).toEqual({ next: CHANGES, hasMore: false });
  });

  it('contains the position at which the next one begins', async () => {
    const first = await readChangePage(database, clock, 0, 1, { connectionId: 'seldom' });
    expect(first).toMatchObject({ changes: [{ seq: 11 }], next: 11, hasMore: true });
    const second = await readChangePage(database, clock, 11, 2, { connectionId: 'seldom' });
    const end = { next: CHANGES, hasMore: false };
    expect(second).toMatchObject({ changes: [{ seq: CHANGES - 1 }, { seq: CHANGES }], ...end });
    expect(await readChangePage(database, clock, CHANGES, 2, { connectionId: 'seldom' })).toEqual({
      changes: [],
      ...end,
    });
  });

  it.each([
    ['50 sections of the feed', 0, 500_000],
    ['2 seconds', 1_000, 20_000],
  ])('that finds nothing in %s ends there, and the feed goes on', async (_what, ms, reached) => {
    const query = async (text: string, [after]: readonly unknown[] = []) => {
      if (text.includes('AS upto')) return [{ upto: Number(after) + 10_000, last_seq: 510_000 }];
      await clock.advance(ms);
      return [];
    };
    const read = (after: number) =>
      readChangePage({ query } as typeof database, clock, after, 10, { connectionId: 'seldom' });
    expect(await read(0)).toEqual({ changes: [], next: reached, hasMore: true });
    expect(await read(500_000)).toEqual({ changes: [], next: 510_000, hasMore: false });
  });

  it('is read by statements of bounded size, however long the feed is', async () => {
    const costs: number[] = [];
    const counting = countBuffers(database);
    const perStatement = {
      query: async <Row extends object>(text: string, params?: readonly unknown[]) => {
        const rows = await counting.query<Row>(text, params);
        costs.push(counting.takeCount());
        return rows;
      },
    };
    await readChangePage(perStatement, clock, 0, 10, { connectionId: 'never' });
    expect(costs.length).toBeGreaterThan(CHANGES / 10_000);
    // A change of the stretch costs its share of a page and of the index; the feed has six stretches.
    for (const cost of costs) expect(cost).toBeLessThan(20_000);
    costs.length = 0;
    await readChangePage(perStatement, clock, 40_000, 10);
    expect(Math.max(...costs)).toBeLessThan(FEW);
  });
});

describe('a page of sends', () => {
  it.each([
    ['of all', {}],
    ['of a state', { state: 'unknown' }],
    ['of a state that none has', { state: 'rejected' }],
    ['of a connection', { connectionId: 'seldom' }],
    ['of an account', { accountId: 'b' }],
    ['of nobody', { connectionId: 'never' }],
  ] as const)('%s reads few pages of the database', async (_what, filter) => {
    const counting = countBuffers(database);
    const list = operateOutbound({ database: counting } as unknown as ApiParts).listOutbound;
    const { outbound, nextCursor } = await list({
      id: '',
      body: undefined,
      query: { limit: 2, ...filter },
    });
    expect(counting.takeCount()).toBeLessThan(FEW);
    if (nextCursor === null) return;
    const rest = { limit: 2, cursor: nextCursor, ...filter };
    const next = await list({ id: '', body: undefined, query: rest });
    expect(counting.takeCount()).toBeLessThan(FEW);
    expect(next.outbound[0]?.id).not.toBe(outbound[1]?.id);
  });

  it('reads few pages of the database if nothing is old enough to be deleted', async () => {
    const counting = countBuffers(database);
    await deleteOldSends(counting, 0);
    expect(counting.takeCount()).toBeLessThan(FEW);
  });
});
