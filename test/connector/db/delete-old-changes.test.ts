import { beforeEach, expect, it } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { deleteOldChanges } from '../../../src/connector/db/delete-old-changes.ts';
import { readPosition } from '../../../src/connector/feed/read-changes.ts';
import { numberChanges } from '../../../src/connector/feed/sequencer.ts';
import { databaseOfFile, emptyTables, polled, readAllChanges, T0 } from '../support/event-fixtures.ts';

const DAY = 86_400_000;
const going = new AbortController().signal;

const database = databaseOfFile();

beforeEach(() => emptyTables(database));

/** One change on each of these days; the first one makes the connection known as well. */
async function write(...days: readonly number[]): Promise<void> {
  for (const day of days) {
    await commitBatch(database, { now: T0 + day * DAY, messages: [polled('connection', `m${day}`)] });
    await numberChanges(database);
  }
}

const seqs = async () => (await readAllChanges(database)).map(({ seq }) => seq);
const drop = (before: number, needed: number | null = null, stopping = going) =>
  deleteOldChanges(database, { before: T0 + before * DAY, needed, stopping });

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
