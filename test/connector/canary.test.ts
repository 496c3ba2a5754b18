import { afterAll, beforeAll, expect, it } from 'vitest';
import { runConnector } from '../../src/commands/run-connector.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { changeDatabase, dumpDatabase, watchRedis } from '../support/dump-stores.ts';
import { signDelivery } from '../support/load-sender.ts';
import { logTo } from '../support/log-to.ts';
import { REDIS_MISSING, startTestRedis, type TestRedis } from '../support/redis.ts';
import { CANARY, findCanaries } from './support/canaries.ts';
import { ScriptedService } from './support/scripted-service.ts';

const HOUR_MS = 3_600_000;

/** Everything that a connector let out while it was used and abused. */
interface Traces {
  logs: string;
  answers: string;
  metrics: string;
  database: string;
}

let service: ScriptedService;
let redis: TestRedis | undefined;
const databases: TestDatabase[] = [];

beforeAll(async () => {
  service = await ScriptedService.start();
  service.secretPrefix = CANARY.issued;
  service.apiKeys.clear();
  service.apiKeys.add(CANARY.firstKey).add(CANARY.secondKey);
  service.addConnection('c1');
  service.addMessage('c1', systemClock.now(), { text: CANARY.letter });
  if (REDIS_MISSING === undefined) redis = await startTestRedis(['--rdbcompression', 'no']);
});
afterAll(async () => {
  await redis?.stop();
  await service.close();
  await Promise.all(databases.map((database) => database.drop()));
});

/** Runs a connector through everything that handles a secret, and through failures of each. */
async function useAndAbuse(redisUrl?: string): Promise<Traces> {
  service.webhook = null;
  service.fault = () => undefined;
  const database = await createTestDatabase({ connector: true });
  databases.push(database);
  const traces: Traces = { logs: '', answers: '', metrics: '', database: '' };
  const logger = logTo('trace', (line) => {
    traces.logs += line;
  });
  const start = (sealingKeys: string[], queues?: string, webhookSecret?: string) =>
    runConnector({
      databaseUrl: database.url,
      redisUrl: queues,
      host: '127.0.0.1',
      port: 0,
      role: 'all',
      apiToken: CANARY.token,
      sealingKeys,
      service: { baseUrl: service.baseUrl, apiKey: CANARY.firstKey },
      webhookPublicUrl: 'https://crm.example/webhooks/messaging',
      webhookSecret,
      reconcileIntervalMs: HOUR_MS,
      inboxRetentionDays: 30,
      clock: systemClock,
      logger,
    });
  // The first life keeps its jobs in Postgres and knows a secret by hand; the second has a new sealing key.
  const before = await start([CANARY.oldSealingKey], undefined, CANARY.configured);
  await before.close();
  const connector = await start([CANARY.sealingKey, CANARY.oldSealingKey], redisUrl);
  const keep = async (path: string, init?: RequestInit): Promise<string> => {
    const answer = await fetch(`${connector.url}${path}`, init);
    const text = `${path} ${answer.status} ${JSON.stringify([...answer.headers])} ${await answer.text()}\n`;
    traces.answers += text;
    return text;
  };
  const ask = (method: string, path: string, body?: unknown, token: string = CANARY.token) =>
    keep(path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  const deliver = (secret: string, body = '{"event":"unknown"}') =>
    keep('/webhooks/messaging', {
      method: 'POST',
      body,
      headers: signDelivery(body, secret, systemClock.now()),
    });

  // Accounts: taken, refused, malformed, with a password in the address, at an address where nobody is.
  const { baseUrl } = service;
  expect(await ask('POST', '/v1/accounts', { baseUrl, apiKey: CANARY.secondKey })).toContain(' 201 ');
  await ask('POST', '/v1/accounts', { baseUrl, apiKey: CANARY.secondKey });
  await ask('POST', '/v1/accounts', { baseUrl, apiKey: CANARY.wrongKey });
  await ask('POST', '/v1/accounts', { baseUrl: 'http://127.0.0.1:9/api/v1', apiKey: CANARY.wrongKey });
  await ask('POST', '/v1/accounts', { baseUrl, apiKey: `${CANARY.wrongKey}\n` });
  await ask('POST', '/v1/accounts', { baseUrl, apiKey: CANARY.wrongKey, more: 1 });
  await ask('POST', '/v1/accounts', `{"apiKey":"${CANARY.wrongKey}",`);
  const withPassword = `http://user:${CANARY.urlPassword}@127.0.0.1:9/`;
  await ask('POST', '/v1/accounts', { baseUrl: withPassword, apiKey: CANARY.wrongKey });
  // Rotations: taken, refused, unanswered. Deliveries: good, forged, with a text.
  expect(await ask('POST', '/v1/webhook/rotate', { accountId: 'default' })).toContain(' 200 ');
  service.fault = ({ path }) =>
    path === '/webhook/rotate' ? { status: 429, body: { error: 'rate_limited' } } : undefined;
  expect(await ask('POST', '/v1/webhook/rotate', { accountId: 'default' })).toContain(' 429 ');
  service.fault = () => undefined;
  const text = { id: 'm9', wa_id: null, from: '447700900001', text: CANARY.letter, timestamp: 1 };
  const told = { event: 'message.received', connection_id: 'c1', message: text };
  const letter = JSON.stringify({ ...told, message: { ...text, media_url: null, media_type: null } });
  expect(await deliver(service.webhook?.['secret'] ?? '', letter)).toContain(' 200 ');
  expect(await deliver(CANARY.wrongKey)).toContain(' 401 ');
  await ask('POST', '/v1/messages', {
    connectionId: 'c1',
    to: '447700900001',
    text: CANARY.letter,
    reference: 'r',
  });
  // Tokens, lists, and polls that are refused or fail on what is stored.
  expect(await ask('GET', '/v1/accounts', undefined, CANARY.wrongToken)).toContain(' 401 ');
  await ask('GET', '/v1/accounts');
  await ask('POST', '/v1/sync', {});
  service.apiKeys.delete(CANARY.firstKey);
  await ask('POST', '/v1/sync', { accountId: 'default' });
  service.apiKeys.add(CANARY.firstKey);
  traces.database += await dumpDatabase(database.url);
  await breakStore(database.url);
  await ask('POST', '/v1/sync', {});
  await ask('GET', '/v1/sync');
  await ask('POST', '/v1/webhook/rotate', { accountId: 'default' });
  traces.metrics = await (
    await fetch(`${connector.url}/metrics`, { headers: { authorization: `Bearer ${CANARY.token}` } })
  ).text();
  await connector.close();
  traces.database += await dumpDatabase(database.url);
  await start([CANARY.sealingKey, CANARY.oldSealingKey]).then(
    (started) => started.close(),
    (error: unknown) => {
      traces.answers += String(error instanceof Error ? error.stack : error);
    },
  );
  return traces;
}

/** A credential that does not open any more, and a table that is gone. */
async function breakStore(url: string): Promise<void> {
  await changeDatabase(url, `update connector.accounts set sealed_credential = reverse(sealed_credential)`);
  await changeDatabase(url, 'alter table connector.repair_totals rename to gone');
}

it('secrets appear in no log, answer, metric, table or job', { timeout: 120_000 }, async () => {
  const watched = redis === undefined ? undefined : await watchRedis(redis.url);
  const traces = await useAndAbuse(redis?.url);
  const jobs = (await watched?.dump()) ?? '';
  watched?.close();

  // What was looked through is what it should be.
  expect(traces.logs).toContain('the webhook is registered');
  expect(traces.logs).toContain('stored secrets were sealed with the new key');
  expect(traces.logs).toContain('SealingError');
  expect(traces.answers).toContain('service_refused');
  expect(traces.answers).toContain('service_unreachable');
  expect(traces.metrics).toContain('connector_slots{account="default",state="total"} 5');
  expect(traces.database).toContain('"sealed_secret": "ey');
  expect(traces.database).toContain('== connector.outbound\n');
  expect(traces.database).toContain(CANARY.letter);
  if (watched !== undefined) expect(jobs).toContain('"key":"default"');

  expect(findCanaries(Object.values(CANARY).join(' '))).toEqual(Object.keys(CANARY));
  expect(findCanaries(traces.logs)).toEqual([]);
  expect(findCanaries(traces.answers)).toEqual([]);
  expect(findCanaries(traces.metrics)).toEqual([]);
  expect(findCanaries(jobs)).toEqual([]);
  expect(findCanaries(traces.database, ['letter'])).toEqual([]);
});
