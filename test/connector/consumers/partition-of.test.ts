import { expect, it, onTestFinished } from 'vitest';
import { replayDeadLetter } from '../../../src/connector/consumers/dead-letters.ts';
import { partitionOf } from '../../../src/connector/consumers/partition-of.ts';
import { createTestDatabase, openPool } from '../../support/database.ts';

it('SQL and JavaScript find the same partition of a connection, whatever its id', async () => {
  const { url, drop } = await createTestDatabase({ connector: true });
  const database = openPool(url, { poolSize: 1 });
  onTestFinished(async () => {
    await database.close();
    await drop();
  });
  const ids = ['c1', 'Büro', '東京-01', '😀', 'e\u0301', '\u00e9', ' ', 'a/b'];
  const known = [0, 6, 4, 0, 15, 10, 6, 1];
  expect(ids.map(partitionOf)).toEqual(known);
  await database.query(
    `insert into connector.consumers (name, kind, created_at) values ('handler', 'handler', 0)`,
  );
  await database.query(
    `insert into connector.dead_letters (consumer, seq, connection_id, attempts, last_error, at)
     select 'handler', n, id, 1, 'no', 0 from unnest($1::text[]) with ordinality as given (id, n)`,
    [ids],
  );
  const [feed] = await database.query<{ id: string }>('select id from connector.feed');
  for (const seq of ids.keys()) await replayDeadLetter(database, `${feed?.id}-${seq + 1}`, 0);
  const replayed = await database.query<{ connection_id: string; partition: number }>(
    'select connection_id, partition from connector.parked',
  );
  expect(new Map(replayed.map((row) => [row.connection_id, row.partition]))).toEqual(
    new Map(ids.map((id, index) => [id, known[index]])),
  );
});
