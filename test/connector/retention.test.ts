import { afterEach, expect, it } from 'vitest';
import { addConsumer, followFirstNeeded } from '../../src/connector/consumers/consumer-store.ts';
import { replayConsumer } from '../../src/connector/consumers/manage-consumers.ts';
import { commitBatch } from '../../src/connector/db/commit-batch.ts';
import { deleteOldChanges } from '../../src/connector/db/delete-old-changes.ts';
import { beginMessagePeriod } from '../../src/connector/db/message-periods.ts';
import { makePartitions } from '../../src/connector/db/time-partitions.ts';
import { numberChanges } from '../../src/connector/feed/sequencer.ts';
import { type RetentionDays, startRetention } from '../../src/connector/retention.ts';
import { createPresence, type Presence } from '../../src/connector/work/presence.ts';
import type { Database } from '../../src/runtime/database/database.ts';
import { countWaiting } from '../support/database.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { ofTest } from '../support/of-file.ts';
import { aroundQueries, replaceCalls } from '../support/replace-calls.ts';
import { openConnectorDatabase, polled, readAllChanges, silentLogger, T0 } from './support/event-fixtures.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const opened = ofTest(() => openConnectorDatabase());
let processes: ForgettingProcess[] = [];

afterEach(async () => {
  for (const { stop, presence } of processes) {
    await stop();
    await presence.stop();
  }
  processes = [];
});

interface ForgettingProcess {
  readonly clock: ManualClock;
  readonly presence: Presence;
  /** The statements that it has sent. */
  readonly sent: string[];
  /** Those that were answered. */
  readonly answered: string[];
  stop(): Promise<void>;
}

/** `held`: its deletions wait until this resolves. */
async function start(
  held: Promise<void> = Promise.resolve(),
  days: Partial<RetentionDays> = {},
): Promise<ForgettingProcess> {
  const sent: string[] = [];
  const answered: string[] = [];
  const database = aroundQueries(opened.database, async (statement, run) => {
    const text = statement.trim();
    sent.push(text);
    if (isDeletion(text)) await held;
    const rows = await run();
    answered.push(text);
    return rows;
  });
  const clock = new ManualClock();
  const presence = createPresence({ database, clock, logger: silentLogger, works: true });
  await presence.start();
  const kept = { messageDays: Infinity, changeDays: Infinity, ...days };
  const { stop } = startRetention({ database, clock, logger: silentLogger, presence, ...kept });
  const process = { clock, presence, sent, answered, stop };
  processes.push(process);
  return process;
}

const isDeletion = (text: string): boolean =>
  /^\s*delete from "?connector"?\."?(outbound|creations)/i.test(text);
const addSend = (id: string, day: number) =>
  opened.database.query(
    `insert into connector.outbound (id, account_id, connection_id, reference, fingerprint, recipient,
                                     idempotency_key, state, created_at, updated_at)
     values ($1::text, 'account', 'connection', $1::text, '', '447700900201', '', 'sent', $2::bigint, $2::bigint)`,
    [id, T0 + day * DAY],
  );
const isReleased = (text: string): boolean => text.startsWith('DELETE FROM connector.leases');
const deletions = ({ sent }: ForgettingProcess): number => sent.filter(isDeletion).length;
/** So many turns of it have ended. */
const ended = (process: ForgettingProcess, count = 1): Promise<void> =>
  expect.poll(() => process.answered.filter(isReleased).length, { timeout: 5_000 }).toBe(count);
const turns = ({ sent }: ForgettingProcess): number =>
  sent.filter((text) => text.startsWith('INSERT INTO connector.leases')).length;

it('old data is deleted at the start and every hour', async () => {
  const { database } = opened;
  const addOld = () =>
    database.query(
      `insert into connector.creations (id, account_id, idempotency_key, created_at)
       values (gen_random_uuid(), 'gone', '', $1)`,
      [Date.UTC(2026, 0, 15, 12) - 91 * DAY],
    );
  const count = async () => (await database.query('select from connector.creations')).length;
  await addOld();
  const process = await start();
  await ended(process);
  expect(await count()).toBe(0);
  const erased = /^DELETE FROM connector\.inbox i USING connector\.messages/;
  expect(process.sent).toContainEqual(expect.stringMatching(erased));
  await addOld();
  await process.clock.advance(HOUR);
  await ended(process, 2);
  expect(await count()).toBe(0);
});

it('old data is deleted by one process at a time, and the others skip their turn', async () => {
  const gate = Promise.withResolvers<void>();
  const busy = await start(gate.promise);
  await expect.poll(() => deletions(busy)).toBe(1);
  const other = await start();
  await expect.poll(() => turns(other)).toBe(1);
  gate.resolve();
  await busy.stop();
  expect(deletions(other)).toBe(0);
  await other.clock.advance(HOUR);
  await expect.poll(() => deletions(other)).toBeGreaterThan(0);
});

/**
 * A connection and its first message are the numbers 1 and 2; each further day adds one. The poll that found them ended
 * at `polledOn` by the clock of the service.
 */
async function writeDays(from: number, to: number, polledOn = to): Promise<void> {
  for (let day = from; day <= to; day += 1) {
    const createdAt = T0 + day * DAY;
    const messages = [polled('connection', `m${day}`, { createdAt })];
    await commitBatch(opened.database, { now: createdAt, messages });
  }
  await numberChanges(opened.database);
  await opened.database.query(
    `insert into connector.poll_states (account_id, last_good_reference) values ('account', $1)
     on conflict (account_id) do update set last_good_reference = excluded.last_good_reference`,
    [T0 + polledOn * DAY],
  );
}
const firstSeq = async () => (await readAllChanges(opened.database))[0]?.seq;
const run = (text: string) => opened.database.query(text);

/** Messages that have their texts. */
const texts = async () => (await run('select from connector.messages where text is not null')).length;

it.each<[Partial<RetentionDays>, number, number]>([
  [{}, 1, 11],
  [{ changeDays: 7 }, 5, 11],
  [{ changeDays: 7, messageDays: 7 }, 5, 8],
  [{ changeDays: 7, messageDays: 9 }, 5, 10],
])(
  'with %j, the first change of 12 that is kept has the number %i, and %i messages of 11 have their texts',
  async (days, seq, kept) => {
    await writeDays(-10, 0);
    await ended(await start(Promise.resolve(), days));
    expect(await firstSeq()).toBe(seq);
    expect(await texts()).toBe(kept);
  },
);

it('the changes of a day are dropped with its partition, when the whole day is old', async () => {
  await makePartitions(opened.database, 'changes', T0 - 10 * DAY, { days: 1, ahead: 10 });
  await writeDays(-10, 0);
  const process = await start(Promise.resolve(), { changeDays: 7 });
  await ended(process);
  expect(await firstSeq()).toBe(5);
  await writeDays(1, 1);
  await process.clock.advance(11 * HOUR);
  await ended(process, 2);
  expect(await firstSeq()).toBe(5);
  await process.clock.advance(HOUR);
  await ended(process, 3);
  expect(await firstSeq()).toBe(6);
});

it('the messages of a period are dropped with it, when the whole period is old', async () => {
  for (let day = -10; day <= 0; day += 1) {
    await beginMessagePeriod(opened.database, T0 + day * DAY, DAY);
    await writeDays(day, day);
  }
  const process = await start(Promise.resolve(), { messageDays: 7 });
  await ended(process);
  expect(await texts()).toBe(8);
  await writeDays(1, 1);
  await process.clock.advance(23 * HOUR);
  await ended(process, 2);
  expect(await texts()).toBe(9);
  await process.clock.advance(HOUR);
  await ended(process, 3);
  expect(await texts()).toBe(8);
});

it('what else has texts of messages is kept for 90 days, but not for longer than messages', async () => {
  const { database } = opened;
  await writeDays(0, 0);
  for (const days of [0, 8, 89, 91]) {
    await database.query(
      `insert into connector.dead_letters (consumer, seq, connection_id, attempts, last_error, at)
       values ('crm', $1, 'connection', 12, 'no', $2)`,
      [days, T0 - days * DAY],
    );
    await addSend(String(days), -days);
  }
  const kept = async () => [
    (await run('select seq from connector.dead_letters order by at')).map(({ seq }) => seq),
    (await run('select id from connector.outbound order by created_at')).map(({ id }) => Number(id)),
  ];
  await ended(await start());
  expect(await kept()).toEqual([
    [89, 8, 0],
    [89, 8, 0],
  ]);
  await ended(await start(Promise.resolve(), { messageDays: 30 }));
  expect(await kept()).toEqual([
    [8, 0],
    [8, 0],
  ]);
});

it.each([
  [
    'a consumer has not had, also if it is paused',
    `insert into connector.consumers (name, kind, state, created_at)
    values ('crm', 'http', 'paused', 0); insert into connector.consumer_places (consumer, partition, place)
    values ('crm', 0, 12), ('crm', 1, 1), ('crm', 1, 3)`,
  ],
  [
    'wait for a connection of a consumer',
    `insert into connector.parked_entries (consumer, key, seq) values ('crm', 'connection', 4)`,
  ],
  [
    'are dead letters',
    `insert into connector.dead_letters (consumer, seq, connection_id, attempts, last_error, at)
    values ('crm', 4, 'connection', 12, 'no', ${T0})`,
  ],
])('changes that %s are kept with those that follow', async (_what, hold) => {
  await writeDays(-10, 0);
  for (const statement of hold.split(';')) await run(statement);
  const process = await start(Promise.resolve(), { changeDays: 7 });
  await ended(process);
  expect(await firstSeq()).toBe(4);
  for (const table of ['consumer_places', 'parked_entries', 'dead_letters'])
    await run(`delete from connector.${table}`);
  await process.clock.advance(HOUR);
  await ended(process, 2);
  expect(await firstSeq()).toBe(5);
});

const addCrm = (database: Database, place: number) =>
  addConsumer(database, { name: 'crm', kind: 'http', createdAt: 0 }, place);
const replayCrm = (database: Database) => replayConsumer(database, 'crm', { place: 0, skips: false });
/** Deletes everything that no consumer needs. */
const deleteUnneeded = (database: Database) =>
  deleteOldChanges(database, {
    before: T0 + DAY,
    needed: followFirstNeeded(),
    stopping: new AbortController().signal,
  });
/** A database whose transactions end with `last`: before they are committed, or after that. */
const withLast = (when: 'before' | 'after', last: () => Promise<unknown>): Database =>
  replaceCalls(opened.database, {
    async transaction(work, options) {
      const result = await opened.database.transaction(async (tx) => {
        const made = await work(tx);
        if (when === 'before') await last();
        return made;
      }, options);
      if (when === 'after') await last();
      return result;
    },
  });

it.each(['replayed', 'added'])(
  'changes that are left are kept for a consumer that is %s meanwhile',
  async (how) => {
    await writeDays(-129, 0);
    if (how === 'replayed') await addCrm(opened.database, 131);
    const beginning = withLast('after', () =>
      how === 'replayed' ? replayCrm(opened.database) : addCrm(opened.database, 0),
    );
    expect(await deleteUnneeded(beginning)).toBe(101);
    expect(await firstSeq()).toBe(102);
  },
);

it.each([
  ['single changes', replayCrm],
  ['partitions', (database: Database) => addCrm(database, 0)],
])('a consumer that comes to need %s is waited for until that is committed', async (what, begin) => {
  if (what === 'partitions')
    await makePartitions(opened.database, 'changes', T0 - 4 * DAY, { days: 1, ahead: 2 });
  else await addCrm(opened.database, 6);
  await writeDays(-4, 0);
  const [reached, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = withLast('before', async () => {
    reached.resolve();
    await goOn.promise;
  });
  const beginning = begin(slow);
  await reached.promise;
  const deleting = deleteUnneeded(opened.database);
  await expect.poll(() => countWaiting(opened.database)).toBe(1);
  goOn.resolve();
  await beginning;
  expect(await deleting).toBe(0);
  expect(await firstSeq()).toBe(1);
});

it('messages lose their texts although old changes and sends cannot be deleted', async () => {
  await writeDays(-10, 0);
  await run(`create function connector.refuse() returns trigger language plpgsql as
             $$ begin raise exception 'no'; end $$`);
  await run(`create trigger refuse before delete on connector.changes
             for each row execute function connector.refuse()`);
  await run('create trigger refuse before delete on connector.outbound execute function connector.refuse()');
  await ended(await start(Promise.resolve(), { messageDays: 7 }));
  expect(await firstSeq()).toBe(1);
  expect(await texts()).toBe(8);
});

it('a process whose clock is a year ahead deletes nothing that is recent, whatever it writes', async () => {
  const kept = async () => [
    await firstSeq(),
    await texts(),
    (await run('select from connector.outbound')).length,
  ];
  await writeDays(-10, 0);
  await addSend('recent', 0);
  const process = await start(Promise.resolve(), { messageDays: 7, changeDays: 7 });
  await ended(process);
  expect(await kept()).toEqual([5, 8, 1]);
  process.clock.jump(365 * DAY);
  await writeDays(365, 365, 1);
  await addSend('by its clock', 365);
  await process.clock.advance(HOUR);
  await ended(process, 2);
  expect(await kept()).toEqual([6, 8, 2]);
});
