import { expect, it } from 'vitest';
import { textIndexStatements } from '../../../src/connector/api/messages.ts';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import {
  beginMessagePeriod,
  listMessagePeriods,
  messagesAre,
} from '../../../src/connector/db/message-periods.ts';
import { sqlState } from '../../../src/runtime/database/database.ts';
import { databaseWithoutDaysOfTest, polled, readAllChanges, T0 } from '../support/event-fixtures.ts';

const DAY = 86_400_000;

const database = databaseWithoutDaysOfTest();

const store = (db = database) => commitBatch(db, { now: T0, messages: [polled('connection', 'm')] });
const begin = (day: number, lengthMs = DAY) => beginMessagePeriod(database, T0 + day * DAY, lengthMs);

it('a period begins once the one before is old enough, in one process', async () => {
  expect((await Promise.all([begin(0), begin(0)])).filter(Boolean)).toHaveLength(1);
  expect(await begin(2, 2 * DAY + 1)).toBe(false);
  expect(await begin(2, 2 * DAY)).toBe(true);
  expect(await listMessagePeriods(database)).toEqual([
    { name: 'messages_0', from: 0, to: T0 },
    { name: `messages_${T0}`, from: T0, to: T0 + 2 * DAY },
    { name: `messages_${T0 + 2 * DAY}`, from: T0 + 2 * DAY, to: null },
  ]);
});

it('a process that knows of the only period finds its messages, and stores others in the present one', async () => {
  await store();
  messagesAre.divided = false;
  await begin(0);
  expect(messagesAre.divided).toBe(true);
  const messages = ['m', 'n', 'o'].map((id) => polled('connection', id));
  messagesAre.divided = false;
  await database.transaction((tx) => commitBatch(tx, { now: T0, messages: messages.slice(0, 2) }));
  expect(messagesAre.divided).toBe(false);
  await commitBatch(database, { now: T0, messages });
  expect(messagesAre.divided).toBe(true);
  expect(await database.query('SELECT id, filed_at AS period FROM connector.messages ORDER BY id')).toEqual([
    { id: 'm', period: 0 },
    { id: 'n', period: T0 },
    { id: 'o', period: T0 },
  ]);
  messagesAre.divided = false;
  await begin(0);
  expect(messagesAre.divided).toBe(true);
});

it('none begins while somebody writes messages', async () => {
  await database.transaction(async (tx) => {
    await tx.query('LOCK TABLE ONLY connector.messages IN ROW EXCLUSIVE MODE');
    expect(await begin(0).catch(sqlState)).toBe('55P03');
  });
});

it('a message that is stored twice while a period is to begin has one row', async () => {
  const [stored, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const storing = database.transaction(async (tx) => {
    await store(Object.create(database, { query: { value: tx.query.bind(tx) } }));
    stored.resolve();
    await over.promise;
  });
  await stored.promise;
  expect(await begin(0).catch(sqlState)).toBe('55P03');
  const again = store();
  over.resolve();
  await Promise.all([storing, again]);
  expect(await begin(0)).toBe(true);
  await store();
  expect((await readAllChanges(database)).map(({ type }) => type)).toEqual([
    'connection.updated',
    'message.created',
  ]);
});

it('a new period has the indexes of the others, also the one for texts', async () => {
  for (const statement of await textIndexStatements(database)) await database.query(statement);
  await begin(0);
  expect(await textIndexStatements(database)).toHaveLength(2);
  const indexes = await database.query<{ count: number }>(
    `SELECT count(*) AS count FROM pg_indexes WHERE tablename IN ('messages_0', 'messages_${T0}') GROUP BY tablename`,
  );
  expect(indexes).toEqual([{ count: 9 }, { count: 9 }]);
});

it('a row that is restored after its period was dropped is stored', async () => {
  await begin(0);
  await store();
  await database.query(`CREATE TABLE saved AS SELECT * FROM connector.messages`);
  await database.query(`DROP TABLE connector.messages_${T0}`);
  await database.query('INSERT INTO connector.messages SELECT * FROM saved');
  await store();
  expect(await readAllChanges(database)).toHaveLength(2);
});
