import { beforeEach, describe, expect, it } from 'vitest';
import type { RawDelivery } from '../../../src/connector/db/facts.ts';
import { commitDeliveries } from '../../../src/connector/inbox/commit-deliveries.ts';
import { Deadline } from '../../../src/runtime/clock/deadline.ts';
import {
  DatabaseUnavailable,
  type Queryable,
  QueryDeadlineExceeded,
  QueryFailed,
} from '../../../src/runtime/database/database.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import {
  databaseOfFile,
  delivery,
  emptyTables,
  newId,
  readAllChanges,
  readLog,
  readMessages,
  received,
  silentLogger,
  T0,
} from '../support/event-fixtures.ts';

const database = databaseOfFile();

beforeEach(() => emptyTables(database));

const clock = new ManualClock(T0);

function commit(db: Queryable, deliveries: readonly RawDelivery[], failures: string[] = []) {
  return commitDeliveries(
    {
      database: db,
      clock,
      logger: silentLogger,
      deadline: new Deadline(clock, 4_500),
      onFailed: (kind) => failures.push(kind),
    },
    deliveries,
  );
}

const good = () => delivery({ message: received(newId(), newId()) });

/** The database refuses it: 54000 (no index holds such a key), 22P02 and 22003 (no bigint). */
const bad = {
  key: () => delivery({ message: received(newId(), Array.from({ length: 400 }, newId).join('')) }),
  number: () => delivery({ message: received(newId(), newId(), { createdAt: 1e300 }) }),
  range: () => delivery({ message: received(newId(), newId(), { createdAt: 9.3e18 }) }),
};

/** A database whose next queries fail with these errors, each before or after it did its work. */
function failing(
  ...errors: readonly { readonly error: Error; readonly after?: true }[]
): Queryable & { calls: number } {
  const left = [...errors];
  return {
    calls: 0,
    async query<Row extends object>(text: string, params?: readonly unknown[]): Promise<Row[]> {
      this.calls += 1;
      const next = left.shift();
      if (next !== undefined && next.after === undefined) throw next.error;
      const rows = await database.query<Row>(text, params);
      if (next !== undefined) throw next.error;
      return rows;
    },
  };
}

describe('committing deliveries', () => {
  it('stores the other deliveries if the database refuses one, and stores that one as it arrived', async () => {
    const poison = bad.key();
    const batch = [good(), good(), poison, good(), good(), good(), good()];
    const failures: string[] = [];
    expect(await commit(database, batch, failures)).toEqual(new Set());
    expect(await readMessages(database)).toHaveLength(6);
    const kept = (await readLog(database)).filter((row) => row.outcome === 'unmergeable');
    expect(kept).toEqual([
      {
        event: poison.event,
        outcome: 'unmergeable',
        reason: 'rejected by the database: 54000',
        change_mask: 0,
        body: poison.body,
        message_id: null,
      },
    ]);
    expect(await readLog(database)).toHaveLength(7);
    expect(failures).toEqual(['split', 'split', 'split', 'retried']);
  });

  it.each([
    ['key', '54000'],
    ['number', '22P02'],
    ['range', '22003'],
  ] as const)('stores a delivery with a bad %s separately', async (kind, state) => {
    expect(await commit(database, [bad[kind]()])).toEqual(new Set());
    expect(await readLog(database)).toMatchObject([
      { outcome: 'unmergeable', reason: `rejected by the database: ${state}` },
    ]);
    expect(await readMessages(database)).toEqual([]);
  });

  it('reports a refused delivery that could not be stored as it arrived either', async () => {
    const poison = bad.number();
    const lost = { error: new DatabaseUnavailable('lost', 'gone') };
    const refused = { error: new QueryFailed('no bigint', '22P02') };
    expect(await commit(failing(refused, refused, lost, lost), [poison])).toEqual(new Set([poison]));
    expect(await readLog(database)).toEqual([]);
  });

  it('stores a batch that consists only of refused deliveries', async () => {
    const batch = [bad.key(), bad.number(), bad.range(), bad.key()];
    expect(await commit(database, batch)).toEqual(new Set());
    expect((await readLog(database)).map((row) => row.outcome)).toEqual(Array(4).fill('unmergeable'));
  });

  it('stores a delivery whose parameters cannot be written at all', async () => {
    const odd = delivery({
      message: received(newId(), newId(), { webhookSeen: undefined as unknown as number }),
    });
    expect(await commit(database, [odd, good()])).toEqual(new Set());
    expect((await readLog(database)).map((row) => row.outcome).sort()).toEqual(['merged', 'unmergeable']);
  });

  it.each([
    ['a lost connection', new DatabaseUnavailable('lost', 'gone', { mayHaveCommitted: true })],
    ['a serialization failure', new QueryFailed('retry', '40001')],
    ['a deadlock', new QueryFailed('deadlock', '40P01')],
    ['too many connections', new QueryFailed('full', '53300')],
    ['a shutdown', new QueryFailed('ending', '57P01')],
    ['a missed deadline', new QueryDeadlineExceeded(100, 'query', true)],
  ])('repeats the whole batch once after %s', async (_, error) => {
    const db = failing({ error });
    expect(await commit(db, [good(), good()])).toEqual(new Set());
    expect(db.calls).toBe(2);
    expect(await readMessages(database)).toHaveLength(2);
  });

  it('reports which deliveries were not stored if the second attempt fails as well', async () => {
    const error = new DatabaseUnavailable('refused', 'down');
    const batch = [good(), good()];
    const failures: string[] = [];
    const db = failing({ error }, { error });
    expect(await commit(db, batch, failures)).toEqual(new Set(batch));
    expect(db.calls).toBe(2);
    expect(failures).toEqual(['retried', 'given_up']);
  });

  it('gives the first attempt half of the time, and the second one the rest', async () => {
    const given: (number | undefined)[] = [];
    const db: Queryable = {
      async query(_text, _params, options) {
        given.push(options?.deadlineMs);
        await clock.advance(options?.deadlineMs ?? 0);
        throw new QueryDeadlineExceeded(options?.deadlineMs ?? 0, 'running a query', true);
      },
    };
    const batch = [good()];
    expect(await commit(db, batch)).toEqual(new Set(batch));
    expect(given).toEqual([2_250, 2_250]);
  });

  it('does not split a batch if splitting cannot help', async () => {
    const db = failing({ error: new QueryFailed('no such table', '42P01') });
    const batch = [good(), good(), good()];
    expect(await commit(db, batch)).toEqual(new Set(batch));
    expect(db.calls).toBe(1);
  });

  it('retries a refused delivery separately, because a partition may have been created in the meantime', async () => {
    const db = failing({ error: new QueryFailed('partition constraint', '23514') });
    expect(await commit(db, [good()])).toEqual(new Set());
    expect(await readLog(database)).toMatchObject([{ outcome: 'merged' }]);
  });

  it('has one effect if the answer of a commit was lost and the batch is repeated', async () => {
    const db = failing({
      error: new DatabaseUnavailable('lost', 'gone', { mayHaveCommitted: true }),
      after: true,
    });
    expect(await commit(db, [good(), good()])).toEqual(new Set());
    expect(await readMessages(database)).toHaveLength(2);
    expect((await readAllChanges(database)).map((change) => change.type).sort()).toEqual([
      'connection.updated',
      'connection.updated',
      'message.created',
      'message.created',
    ]);
    expect((await readLog(database)).map((row) => row.outcome)).toEqual([
      'merged',
      'merged',
      'unchanged',
      'unchanged',
    ]);
  });
});
