import { expect, it, onTestFinished } from 'vitest';
import { openDirectPools, openPooledPools } from '../../../src/runtime/queue/postgres-pools.ts';
import { createTestDatabase } from '../../support/database.ts';
import { PGBOUNCER, startPgbouncer } from '../../support/pgbouncer.ts';

const SETTING = "select current_setting('jit') as jit";
const OFF = { jit: 'off' };
/** No connection fails here. */
const fail = (error: unknown): never => {
  throw error;
};

it('has no statement of the queues compiled, in shared connections or in those of a worker', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const pools = openDirectPools({ connectionString: database.url }, 'queues', fail);
  onTestFinished(() => pools.close());
  const client = await pools.pool.connect();
  onTestFinished(() => client.release());
  expect((await pools.pool.query(SETTING)).rows).toEqual([OFF]);
  expect((await client.query(SETTING)).rows).toEqual([OFF]);
});

it.skipIf(PGBOUNCER === undefined)(
  'has none compiled behind pgbouncer in transaction mode (skipped where it is not installed)',
  async () => {
    const database = await createTestDatabase();
    onTestFinished(() => database.drop());
    const pooler = await startPgbouncer(PGBOUNCER ?? '', database.url, 2);
    onTestFinished(() => pooler.stop());
    const pools = openPooledPools({ connectionString: pooler.url }, 'queues', fail);
    onTestFinished(() => pools.close());
    expect((await pools.pool.query(SETTING)).rows).toEqual([OFF]);
  },
);
