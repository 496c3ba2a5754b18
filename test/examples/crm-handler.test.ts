import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChangeHandlers } from '../../src/connector/consumers/sinks/handler.ts';
import { commitBatch } from '../../src/connector/db/commit-batch.ts';
import { ConsumerBench } from '../connector/consumers/consumer-bench.ts';
import { newId, status, T0 } from '../connector/support/event-fixtures.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let bench: ConsumerBench;
let crm: TestDatabase;
let sql: postgres.Sql;
let example: ChangeHandlers;

beforeAll(async () => {
  bench = await ConsumerBench.open();
  crm = await createTestDatabase();
  process.env['CRM_DATABASE_URL'] = crm.url;
  // Another worker creates the tables at the same time.
  [example] = await Promise.all([
    import('../../examples/crm-handler/handlers.ts'),
    import(new URL('../../examples/crm-handler/handlers.ts?second', import.meta.url).href),
  ]);
  sql = postgres(crm.url, { max: 1 });
});
afterAll(async () => {
  delete process.env['CRM_DATABASE_URL'];
  await bench.stopAll();
  await bench.close();
  await sql.end();
  await crm.drop();
});

describe('the sample handler', () => {
  it('stores contact, conversation and message once, although every answer to the connector is lost once', async () => {
    const connection = newId();
    const dispatch = await bench.running({
      async onChange(change, context) {
        await example.onChange(change, context);
        if (context.attempt === 1) throw new Error('the answer is lost');
      },
    });
    await bench.tell(connection, 'Hello', 'Anybody there?');
    for (let step = 0; step < 3; step += 1) {
      await dispatch.settle();
      await bench.clock.advance(1_000);
    }
    expect(await sql`select text, phone, direction from crm.messages order by status_seq`).toEqual([
      { text: 'Hello', phone: '15551234567', direction: 'incoming' },
      { text: 'Anybody there?', phone: '15551234567', direction: 'incoming' },
    ]);
    expect(await sql`select phone from crm.contacts`).toEqual([{ phone: '15551234567' }]);
    expect(await sql`select connection_id from crm.conversations`).toEqual([{ connection_id: connection }]);
    expect(await sql`select count(*)::int as taken from crm.taken_changes`).toEqual([{ taken: 2 }]);
    await dispatch.close();
  });

  it('lowers no status when a dead letter is replayed late', async () => {
    const [connection, id] = [newId(), newId()];
    const { lastSeq: after } = await bench.feed.position();
    for (const reached of ['sent', 'delivered', 'read'] as const) {
      await commitBatch(bench.database, { now: T0, messages: [status(connection, id, reached)] });
    }
    await bench.feed.settle();
    const { changes } = await bench.feed.pageAfter(after, 10, { connectionId: connection });
    const ofMessage = changes.filter((change) => change.type.startsWith('message.'));
    expect(ofMessage.map(({ type }) => type)).toContain('message.status');
    // The newest first, as if all others had become dead letters.
    for (const change of ofMessage.toReversed()) {
      await example.onChange(change, {
        key: `late-${change.seq}`,
        attempt: 2,
        signal: new AbortController().signal,
      });
    }
    expect(await sql`select status from crm.messages where id = ${id}`).toEqual([{ status: 'read' }]);
  });

  it('commits nothing of a call that missed its deadline', async () => {
    const [change] = (await bench.feed.pageAfter(0, 1)).changes;
    const context = { key: 'over', attempt: 1, signal: AbortSignal.abort(new Error('the time is over')) };
    expect(change).toBeDefined();
    if (change !== undefined)
      await expect(example.onChange(change, context)).rejects.toThrow('the time is over');
    expect(await sql`select from crm.taken_changes where key = 'over'`).toEqual([]);
  });
});
