import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { deleteOldChanges } from '../../../src/connector/db/delete-old-changes.ts';
import { listPartitions, makePartitions } from '../../../src/connector/db/time-partitions.ts';
import { readPosition } from '../../../src/connector/feed/read-changes.ts';
import { numberChanges } from '../../../src/connector/feed/sequencer.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import {
  databaseOfFile,
  emptyTables,
  openConnectorDatabaseWithoutDays,
  polled,
  readAllChanges,
  T0,
} from '../support/event-fixtures.ts';

const DAY = 86_400_000;
const going = new AbortController().signal;

const shared = databaseOfFile();
let database: Database = shared;

beforeEach(() => emptyTables(shared));

/** One change on each of these days; the first one makes the connection known as well. */
async function write(...days: readonly number[]): Promise<void> {
  for (const day of days) {
    await commitBatch(database, { now: T0 + day * DAY, messages: [polled('connection', `m${day}`)] });
    await numberChanges(database);
  }
}

const seqs = async () => (await readAllChanges(database)).map(({ seq }) => seq);
const drop = (before: number, needed: number | null = null, stopping = going, patienceMs = 0) =>
  deleteOldChanges(database, { before: T0 + before * DAY, needed: async () => needed, patienceMs, stopping });

it('deletes the changes made before a time, and says in the feed up to which number', async () => {
  await write(0, 1, 2, 3);
  expect(await drop(2)).toBe(3);
  expect(await seqs()).toEqual([4, 5]);
  expect(await readPosition(database)).toMatchObject({ deletedSeq: 3, lastSeq: 5 });
  expect(await database.query('select from connector.change_batches')).toHaveLength(2);
});

it('deletes nothing from the number that is needed on', async () => {
  await write(0, 1, 2, 3);
  expect(await drop(3, 4)).toBe(3);
  expect(await drop(3, 4)).toBe(0);
  expect(await seqs()).toEqual([4, 5]);
});

it('deletes a batch only as a whole', async () => {
  await write(0, 1);
  // The first batch has the numbers 1 and 2.
  expect(await drop(1, 2)).toBe(0);
  expect(await readPosition(database)).toMatchObject({ deletedSeq: 0 });
});

it('keeps the newest change, however old it is, and numbers continue after it', async () => {
  await write(0, 1);
  expect(await drop(400)).toBe(2);
  await write(401);
  expect(await seqs()).toEqual([3, 4]);
});

it('keeps what was made before a change of a clock that is far behind, and deletes up to what is young', async () => {
  await write(0, 1, 2, 3, -40, 4);
  expect(await drop(-30)).toBe(0);
  expect(await seqs()).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(await drop(2)).toBe(3);
  expect(await readPosition(database)).toMatchObject({ deletedSeq: 3, lastSeq: 7 });
  expect(await drop(4)).toBe(2);
});

it('is not held up by a change of a clock that is ahead of the present', async () => {
  await write(0, 365, 1, 2, 3);
  const old = { before: T0 + 2 * DAY, present: T0 + 3 * DAY, needed: async () => null, stopping: going };
  expect(await deleteOldChanges(database, old)).toBe(4);
  expect(await seqs()).toEqual([5, 6]);
});

it('keeps what has no number yet', async () => {
  await write(0);
  for (const id of ['late', 'later'])
    await commitBatch(database, { now: T0, messages: [polled('connection', id)] });
  expect(await drop(1)).toBe(0);
  await numberChanges(database);
  expect(await seqs()).toEqual([1, 2, 3, 4]);
});

it('deletes more than one statement does, and ends early when it is to stop', async () => {
  await write(...Array.from({ length: 130 }, (_, day) => day));
  expect(await drop(120, null, AbortSignal.abort())).toBe(101);
  expect(await drop(120)).toBe(20);
  expect(await drop(0)).toBe(0);
});

// The days begin half a day before `T0` and its multiples.
describe('of a feed with a partition for each day', () => {
  let close: () => Promise<void>;

  beforeEach(async () => {
    ({ database, close } = await openConnectorDatabaseWithoutDays());
    await makePartitions(database, 'changes', T0, { days: 1, ahead: 4 });
  });
  afterEach(async () => {
    database = shared;
    await close();
  });

  const dropDays = (before: number, needed: number | null = null, stopping = going) =>
    drop(before, needed, stopping, DAY);
  const days = async () => (await listPartitions(database, 'changes')).map(({ name }) => name.slice(-2));

  it('drops the days that are over one by one, and says in the feed up to which number', async () => {
    await write(0, 1, 2, 3);
    expect(await dropDays(2, null, AbortSignal.abort())).toBe(2);
    expect(await days()).toEqual(['16', '17', '18', '19']);
    expect(await dropDays(2)).toBe(1);
    expect(await days()).toEqual(['17', '18', '19']);
    expect(await seqs()).toEqual([4, 5]);
    expect(await readPosition(database)).toMatchObject({ deletedSeq: 3, lastSeq: 5 });
    expect(await database.query('select from connector.change_batches')).toHaveLength(2);
  });

  it('keeps a day whole from which a change is needed or has no number, and those after it', async () => {
    await write(0, 1, 2);
    expect(await dropDays(3, 3)).toBe(2);
    expect(await days()).toEqual(['16', '17', '18', '19']);
    await commitBatch(database, { now: T0 + 2 * DAY, messages: [polled('connection', 'late')] });
    expect(await dropDays(3)).toBe(1);
    expect(await days()).toEqual(['17', '18', '19']);
    await numberChanges(database);
    expect(await seqs()).toEqual([4, 5]);
  });

  it('drops the day of the newest number, and numbers continue after it', async () => {
    await write(0, 1);
    expect(await dropDays(9)).toBe(3);
    expect(await days()).toEqual([]);
    expect(await readPosition(database)).toMatchObject({ deletedSeq: 3, lastSeq: 3 });
    await write(9);
    expect(await seqs()).toEqual([4]);
  });

  it('keeps a day that somebody reads for a long time, and writers do not wait for the drop', async () => {
    await write(0, 1);
    const [reading, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const reader = database.transaction(async (tx) => {
      await tx.query('SELECT count(*) FROM connector.changes');
      reading.resolve();
      await over.promise;
    });
    await reading.promise;
    const dropping = dropDays(1);
    await write(2);
    expect(await dropping).toBe(0);
    expect(await readPosition(database)).toMatchObject({ deletedSeq: 0 });
    over.resolve();
    await reader;
    expect(await dropDays(1)).toBe(2);
  });

  it('deletes single changes only where their partition would stay for longer', async () => {
    await makePartitions(database, 'changes', T0 + 10 * DAY, { days: 30, ahead: 0 });
    await write(0, 10, 11, 12);
    expect(await dropDays(11)).toBe(3);
    expect(await seqs()).toEqual([4, 5]);
  });

  it('deletes older changes that are in no partition', async () => {
    await write(-3, -2, 0);
    expect(await dropDays(0.2)).toBe(3);
    expect(await seqs()).toEqual([4]);
  });
});
