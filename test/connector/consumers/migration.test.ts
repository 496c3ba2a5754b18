import { readdirSync, readFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { replayDeadLetter } from '../../../src/connector/consumers/dead-letters.ts';
import { partitionOf } from '../../../src/connector/consumers/partition-of.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openDatabase } from '../../../src/runtime/database/database.ts';
import { createTestDatabase } from '../../support/database.ts';
import { silentLogger } from '../support/event-fixtures.ts';

const FOLDER = new URL('../../../drizzle/connector/', import.meta.url);
const FILES = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.sql'))
  .toSorted();

/** A database to which the migrations before this one, and that one when the test says so, are applied. */
async function databaseBefore(name: string) {
  const { url, drop } = await createTestDatabase();
  const database = openDatabase({ url, name: 'test', poolSize: 1, clock: systemClock, logger: silentLogger });
  onTestFinished(async () => {
    await database.close();
    await drop();
  });
  const apply = async (file: string): Promise<void> => {
    for (const statement of readFileSync(new URL(file, FOLDER), 'utf8').split('--> statement-breakpoint'))
      await database.query(statement);
  };
  for (const file of FILES.filter((each) => each < name)) await apply(file);
  return { database, migrate: () => apply(name) };
}

it('what waited for the handler is parked with its attempts, and dead letters stay', async () => {
  const { database, migrate } = await databaseBefore('0016_consumers.sql');
  await database.query('insert into connector.dispatch (cursor) values (900)');
  await database.query(
    `insert into connector.dispatch_queues (connection_id, waiting, set_aside, due_at)
     values ('failed', 3, 1, 5000), ('waits', 1, 0, 0), ('empty', 0, 0, null)`,
  );
  await database.query(
    `insert into connector.dispatch_entries (connection_id, seq, batch, position, attempts)
     values ('failed', 12, 1, 2, 4), ('failed', 10, 1, 1, 7), ('failed', 800, 2, 1, 0), ('waits', 900, 3, 1, 0)`,
  );
  await database.query(
    `insert into connector.dead_letters (seq, connection_id, batch, position, attempts, last_error, at)
     values (7, 'failed', 1, 1, 12, 'TypeError: no', 1000)`,
  );
  await migrate();

  expect(await database.query('select name, kind, state from connector.consumers')).toEqual([
    { name: 'handler', kind: 'handler', state: 'running' },
  ]);
  expect(
    await database.query(
      `select consumer, count(*)::integer as partitions, min(partition) as first, max(partition) as last,
              min(place)::integer as least, max(place)::integer as most, bool_or(open) as open
         from connector.consumer_places group by consumer`,
    ),
  ).toEqual([
    { consumer: 'handler', partitions: 16, first: 0, last: 15, least: 900, most: 900, open: false },
  ]);
  expect(
    await database.query(
      'select consumer, key, connection_id, seq::integer, due_at::integer, attempts from connector.parked order by key',
    ),
  ).toEqual([
    { consumer: 'handler', key: 'failed', connection_id: 'failed', seq: 10, due_at: 0, attempts: 7 },
    { consumer: 'handler', key: 'waits', connection_id: 'waits', seq: 900, due_at: 0, attempts: 0 },
  ]);
  expect(
    await database.query(
      'select consumer, key, seq::integer, attempts from connector.parked_entries order by key, seq',
    ),
  ).toEqual([
    { consumer: 'handler', key: 'failed', seq: 10, attempts: 7 },
    { consumer: 'handler', key: 'failed', seq: 12, attempts: 4 },
    { consumer: 'handler', key: 'failed', seq: 800, attempts: 0 },
    { consumer: 'handler', key: 'waits', seq: 900, attempts: 0 },
  ]);
  expect(
    await database.query('select consumer, seq::integer, attempts, last_error from connector.dead_letters'),
  ).toEqual([{ consumer: 'handler', seq: 7, attempts: 12, last_error: 'TypeError: no' }]);
  expect(
    await database.query(
      `select relname from pg_class where relnamespace = 'connector'::regnamespace and relname like 'dispatch%'`,
    ),
  ).toEqual([]);
});

it('nothing is added where no handler has run', async () => {
  const { database, migrate } = await databaseBefore('0016_consumers.sql');
  await migrate();
  for (const table of ['consumers', 'consumer_places', 'parked', 'parked_entries'])
    expect(await database.query(`select from connector.${table}`)).toEqual([]);
});

it('SQL and JavaScript find the same partition of a connection, whatever its id', async () => {
  const { database, migrate } = await databaseBefore('0016_consumers.sql');
  const ids = ['c1', 'Büro', '東京-01', '😀', 'e\u0301', '\u00e9', ' ', 'a/b'];
  const known = [0, 6, 4, 0, 15, 10, 6, 1];
  await database.query('insert into connector.dispatch (cursor) values (100)');
  await database.query(
    `insert into connector.dispatch_entries (connection_id, seq, batch, position)
     select id, n, n, 1 from unnest($1::text[]) with ordinality as given (id, n)`,
    [ids],
  );
  await migrate();
  const [feed] = await database.query<{ id: string }>('select id from connector.feed');
  const migrated = await database.query<{ partition: number }>(
    'select partition from connector.parked order by seq',
  );
  expect(migrated.map(({ partition }) => partition)).toEqual(known);
  expect(ids.map(partitionOf)).toEqual(known);
  // Replaying a dead letter computes it as well.
  await database.query('delete from connector.parked');
  await database.query(
    `insert into connector.dead_letters (consumer, seq, connection_id, attempts, last_error, at)
     select 'handler', n, id, 1, 'no', 0 from unnest($1::text[]) with ordinality as given (id, n)`,
    [ids],
  );
  for (const seq of ids.keys()) await replayDeadLetter(database, `${feed?.id}-${seq + 1}`, 0);
  const replayed = await database.query<{ connection_id: string; partition: number }>(
    'select connection_id, partition from connector.parked',
  );
  expect(new Map(replayed.map((row) => [row.connection_id, row.partition]))).toEqual(
    new Map(ids.map((id, index) => [id, known[index]])),
  );
});
