import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listMessagePeriods } from '../../../src/connector/db/message-periods.ts';
import { createPartitionKeeper, type PartitionKeeper } from '../../../src/connector/db/partition-keeper.ts';
import { listPartitions } from '../../../src/connector/db/time-partitions.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { aroundQueries, aroundStatements } from '../../support/replace-calls.ts';
import { databaseWithoutDaysOfTest, silentLogger } from '../support/event-fixtures.ts';

const HOUR = 3_600_000;

const database = databaseWithoutDaysOfTest();
let clock: ManualClock;
let keeper: PartitionKeeper;

const options = () => ({
  database,
  clock,
  logger: silentLogger,
  inboxDays: 2,
  changeDays: Infinity,
  messageDays: Infinity,
});

beforeEach(async () => {
  clock = new ManualClock(Date.UTC(2026, 0, 15, 23, 30));
  keeper = createPartitionKeeper(options());
});
afterEach(() => keeper.close());

const days = async (): Promise<string[]> =>
  (
    await database.query<{ name: string }>(
      `SELECT relname AS name FROM pg_inherits JOIN pg_class ON oid = inhrelid
        WHERE inhparent = 'connector.inbox'::regclass ORDER BY 1`,
    )
  ).map(({ name }) => name);

const receive = () =>
  database.query(
    `insert into connector.inbox (received_at, subscription_id, account_id, signed_at, body, outcome, change_mask)
     values ($1, '', '', $1, '', 'stored', 0)`,
    [clock.now()],
  );

describe('the maintenance of the inbox', () => {
  it('creates the partitions of today and of the next week', async () => {
    await keeper.keep();
    expect(await days()).toEqual([
      ...[15, 16, 17, 18, 19, 20, 21, 22].map((day) => `inbox_202601${day}`),
      'inbox_default',
    ]);
    expect(await listMessagePeriods(database)).toHaveLength(1);
  });

  it('creates those of the feed for a week, and begins a period of messages, for a fifteenth and a fifth of the retention', async () => {
    const other = createPartitionKeeper({ ...options(), changeDays: 60, messageDays: 10 });
    await other.keep();
    expect((await listPartitions(database, 'changes')).map(({ name }) => name)).toEqual([
      'changes_20260115',
      'changes_20260119',
    ]);
    const periods = async () => (await listMessagePeriods(database)).map(({ from }) => from);
    const [first, second] = [clock.now(), clock.now() + 48 * HOUR];
    for (const hours of [0, 47, 1]) {
      clock.jump(hours * HOUR);
      await other.keep();
      expect(await periods()).toEqual([0, first, ...(clock.now() < second ? [] : [second])]);
    }
  });

  it('runs every hour, adds the new day and drops what is past the retention', async () => {
    await keeper.keep();
    keeper.start();
    await clock.advance(HOUR);
    await keeper.keep();
    expect(await days()).toContain('inbox_20260123');
    clock.jump(2 * 24 * HOUR);
    await keeper.keep();
    expect(await days()).not.toContain('inbox_20260115');
    expect(await days()).toContain('inbox_20260116');
  });

  it('drops nothing that the newest rows show to be recent, if its clock is a month ahead', async () => {
    await keeper.keep();
    await receive();
    clock.jump(31 * 24 * HOUR);
    await keeper.keep();
    expect(await days()).toContain('inbox_20260115');
    expect(await database.query('select from connector.inbox')).toHaveLength(1);
  });

  it('drops old rows of an account without new ones if a poll shows the time', async () => {
    await keeper.keep();
    await receive();
    clock.jump(31 * 24 * HOUR);
    await database.query(
      `insert into connector.poll_states (account_id, last_good_reference) values ('default', $1)`,
      [clock.now()],
    );
    await keeper.keep();
    expect(await days()).not.toContain('inbox_20260115');
  });

  it('survives a failing database, and stops when it is closed', async () => {
    const broken = aroundStatements(database, () => Promise.reject(new Error('gone')));
    const other = createPartitionKeeper({ ...options(), database: broken });
    await expect(other.keep()).resolves.toBeUndefined();
    other.start();
    await other.close();
    expect(clock.pending).toBe(0);
  });

  it('runs again after a minute if it was blocked', async () => {
    let failing = true;
    const shaky = aroundQueries(database, (_text, run) =>
      failing ? Promise.reject(new Error('gone')) : run(),
    );
    const other = createPartitionKeeper({ ...options(), database: shaky });
    await other.keep();
    other.start();
    failing = false;
    await clock.advance(60_000);
    // Waits for what the timer has begun.
    await other.close();
    expect(await days()).toContain('inbox_20260115');
  });
});
