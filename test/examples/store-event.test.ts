import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { ROOT } from '../support/root.ts';

const SECRET = 'secret-of-an-example';

describe('store-event.ts of examples/edge, in Postgres', () => {
  let database: TestDatabase;
  let sql: postgres.Sql;
  let deliver: (body: string) => Promise<number>;
  beforeAll(async () => {
    database = await createTestDatabase();
    sql = postgres(database.url, { max: 1, onnotice: () => undefined });
    await sql.unsafe(readFileSync(join(ROOT, 'examples/edge/schema.sql'), 'utf8'));
    Object.assign(process.env, { SIGNING_SECRET: SECRET, DATABASE_URL: database.url });
    const { handler } = await import(join(ROOT, 'examples/edge/lambda.ts'));
    deliver = async (body) => {
      const timestamp = String(Date.now());
      const signature = `sha256=${createHmac('sha256', SECRET).update(`${timestamp}.${body}`).digest('hex')}`;
      const headers = { 'x-service-timestamp': timestamp, 'x-service-signature': signature };
      return (await handler({ headers, body, isBase64Encoded: false })).statusCode;
    };
  });
  afterAll(async () => {
    await sql?.end();
    await database?.drop();
  });

  it.each([
    '{"event":"message.received","connection_id":"c1","message":null}',
    '{"event":"message.received","connection_id":"c1"}',
    '{"event":"message.received","connection_id":"c1","message":{"text":"no id"}}',
    '{"event":"message.received","connection_id":null,"message":{"id":"m1"}}',
    '{"event":"message.received","connection_id":"c1","message":{"id":"m1","text":{"body":"x"}}}',
    '{"event":"message.received","connection_id":"c1","message":{"id":"m1","timestamp":"today"}}',
    '{"event":"message.status","connection_id":"c1","message":null}',
  ])('keeps the bytes of an event that it cannot read, once: %s', async (body) => {
    await sql`TRUNCATE unread_events`;
    expect([await deliver(body), await deliver(body)]).toEqual([200, 200]);
    const rows = await sql`SELECT body FROM unread_events`;
    expect(rows.map((row) => Buffer.from(row['body'], 'base64').toString())).toEqual([body]);
    expect(await sql`SELECT * FROM messages WHERE id = 'm1'`).toEqual([]);
  });

  it('stores a text with NUL, which Postgres does not store', async () => {
    const message = { id: 'm2', from: '4915100000001', text: 'a\0b', timestamp: 1_767_225_600_000 };
    const event = { event: 'message.received', connection_id: 'c1', message };
    expect(await deliver(JSON.stringify(event))).toBe(200);
    expect(await sql`SELECT text FROM messages WHERE id = 'm2'`).toEqual([{ text: 'a\ufffdb' }]);
  });

  it.each([
    'null',
    '7',
    '"text"',
    '{"event":"message.status","connection_id":"c1","message":{"id":"m3","status":"constructor"}}',
  ])('ignores what it does not know: %s', async (body) => {
    expect(await deliver(body)).toBe(200);
    expect(await sql`SELECT * FROM messages WHERE id = 'm3'`).toEqual([]);
  });
});
