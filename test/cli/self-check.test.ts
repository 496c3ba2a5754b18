import { createHash, randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CheckedLoop, checkLoop, timeQueues } from '../../src/commands/self-check.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { asAdmin, createTestDatabase } from '../support/database.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { silentLogger } from '../support/platform.ts';
import { type Served, serve } from '../support/serve.ts';

/** Plays sandbox and connector at once: each message appears in the feed by the next queue of the script. */
describe('the self-check', () => {
  let queues: string[];
  let faults: string[];
  let writes: number;
  let told: string[];
  let server: Server;
  let served: Served;
  let loop: CheckedLoop;

  beforeEach(async () => {
    queues = [];
    faults = [];
    writes = 0;
    told = [];
    server = createServer((request, response) => {
      const path = new URL(request.url ?? '', 'http://local').pathname;
      const json = (body: unknown): void =>
        void response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
      if (path === '/v1/changes') json({ nextCursor: String(writes) });
      else if (path === '/v1/sync') json({});
      else if (path === '/v1/changes/stream') response.end(`data: ${JSON.stringify(nextArrival())}\n\n`);
      else if (path === '/sandbox/v1/faults') {
        faults.push(request.method ?? '');
        json({ seed: 1, rules: [] });
      } else {
        writes += 1;
        request.on('data', (body: Buffer) => told.push(JSON.parse(String(body)).connectionId));
        json({ messageId: `m${writes}` });
      }
    });
    served = await serve(server);
    const { url } = served;
    loop = { sandboxUrl: url, connectionId: 'c1', connectorUrl: url, connectorToken: 'token' };
  });

  afterEach(() => served.close());

  function nextArrival(): unknown {
    return { type: 'message.created', messageId: `m${writes}`, data: { firstSeenBy: queues.shift() } };
  }

  it('sends one message with a webhook and one without, and leaves no fault behind', async () => {
    queues = ['webhook', 'poll'];
    expect(await timeQueues(loop, new ManualClock())).toEqual({ webhookMs: 0, repairMs: 0 });
    expect(writes).toBe(2);
    expect(told).toEqual(['c1', 'c1']);
    expect(faults).toEqual(['PUT', 'DELETE']);
  });

  it('sends another message if a poll was faster than the webhook', async () => {
    queues = ['poll', 'poll', 'webhook', 'poll'];
    await timeQueues(loop, new ManualClock());
    expect(writes).toBe(4);
  });

  it('fails if no webhook arrives after several attempts', async () => {
    queues = ['poll', 'poll', 'poll', 'poll', 'poll', 'poll'];
    await expect(timeQueues(loop, new ManualClock())).rejects.toThrow(
      'a message arrived by poll instead of webhook',
    );
  });

  it('fails if a webhook arrives although it was dropped, and leaves no fault behind', async () => {
    queues = ['webhook', 'webhook'];
    await expect(timeQueues(loop, new ManualClock())).rejects.toThrow('instead of poll');
    expect(faults).toEqual(['PUT', 'DELETE']);
  });

  it('names the call that was refused', async () => {
    server.removeAllListeners('request');
    server.on('request', (_request, response) => response.writeHead(503).end());
    await expect(timeQueues(loop, new ManualClock())).rejects.toThrow(
      'GET /v1/changes?after=latest answered 503',
    );
  });
});

const options = {
  sandboxUrl: 'http://127.0.0.1:1',
  baseUrl: 'http://127.0.0.1:1/api/v1',
  number: { connectionId: 'c1', apiKey: 'key' },
  webhookUrl: 'https://self-check.example.com/webhooks/messaging',
  tunnel: () => undefined,
  clock: systemClock,
  logger: silentLogger,
};

it('the self-check replaces the database of one that was killed, and leaves none if it fails', async () => {
  const database = await createTestDatabase();
  const digest = createHash('sha256').update(database.url).digest('hex').slice(0, 12);
  const name = `messaging_self_check_${digest}`;
  await asAdmin(async (sql) => void (await sql.unsafe(`create database ${name}`)));
  await expect(checkLoop({ ...options, databaseUrl: database.url })).rejects.toThrow(
    'No sandbox listens at http://127.0.0.1:1',
  );
  await asAdmin(async (sql) => {
    expect(await sql.unsafe(`select from pg_database where datname = '${name}'`)).toEqual([]);
  });
  await database.drop();
});

it('the self-check is skipped if the database role may not create databases, and says why', async () => {
  const database = await createTestDatabase();
  const role = `test_${randomBytes(8).toString('hex')}`;
  await asAdmin(async (sql) => void (await sql.unsafe(`create role ${role} login password 'of-a-test'`)));
  const url = new URL(database.url);
  url.username = role;
  url.password = 'of-a-test';
  const result = await checkLoop({ ...options, databaseUrl: url.href });
  expect(result).toEqual({
    leftOut: 'it needs a temporary database and could not create one: permission denied to create database',
  });
  await asAdmin(async (sql) => void (await sql.unsafe(`drop role ${role}`)));
  await database.drop();
});
