import { beforeAll, expect, it } from 'vitest';
import { findDeadLetter } from '../../../src/connector/consumers/dead-letters.ts';
import type { Queryable } from '../../../src/runtime/database/database.ts';
import { explain } from '../../support/statements.ts';
import { databaseOfFile } from '../support/event-fixtures.ts';

const LETTERS = 10_000;

const database = databaseOfFile();
beforeAll(async () => {
  await database.query(
    `insert into connector.change_batches (id, size, changed_at, last_seq) values (1, ${LETTERS}, 0, ${LETTERS})`,
  );
  await database.query(
    `insert into connector.changes (batch, position, type, at, account_id, connection_id, message_id, source)
     select 1, n, 'message.created', 0, 'account-1', 'c1', 'm' || n, 'webhook' from generate_series(1, ${LETTERS}) n`,
  );
  await database.query(
    `insert into connector.dead_letters (consumer, seq, connection_id, message_id, attempts, last_error, at)
     select 'crm', n, 'c1', 'm' || n, 12, 'no room', 0 from generate_series(1, ${LETTERS}) n`,
  );
  for (const table of ['changes', 'dead_letters']) await database.query(`analyze connector.${table}`);
});

it('the dead letter of a message is found by an index, however many its connection has', async () => {
  let used: readonly (string | undefined)[] = [];
  const explaining: Queryable = {
    async query(text, params = []) {
      used = (await explain(database, { text, params })).map((node) => node['Index Name']);
      return await database.query(text, params);
    },
  };
  expect(await findDeadLetter(explaining, 'c1', 'm4711')).toMatchObject({ change: { seq: 4_711 } });
  expect(used).toContain('dead_letters_message');
  expect(await findDeadLetter(explaining, 'c2', 'm4711')).toBeUndefined();
});
