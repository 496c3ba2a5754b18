import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningConnector, runConnector } from '../../src/commands/run-connector.ts';
import { runReplay } from '../../src/commands/run-replay.ts';
import { writeReports } from '../../src/commands/write-reports.ts';
import type { ChangeHandlers } from '../../src/connector/consumers/sinks/handler.ts';
import { examine } from '../../src/connector/doctor/examine.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { Browser } from '../support/browser.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { changeDatabase, dumpDatabase, watchRedis } from '../support/dump-stores.ts';
import { signDelivery } from '../support/load-sender.ts';
import { logTo } from '../support/log-to.ts';
import { REDIS_MISSING, startTestRedis, type TestRedis } from '../support/redis.ts';
import { openForDoctor } from './doctor/examined-system.ts';
import { CANARY, findCanaries } from './support/canaries.ts';
import { ScriptedAuthServer } from './support/scripted-auth-server.ts';
import { type Fault, ScriptedService, type ServiceRequest } from './support/scripted-service.ts';

const HOUR_MS = 3_600_000;
const PHONE = '447700900001';
const PICTURE = `data:image/png;base64,${CANARY.picture}`;
const MIGRATIONS = join(import.meta.dirname, '../../drizzle/connector');

let service: ScriptedService;
let auth: ScriptedAuthServer;
/** What the connector makes by itself for a consent: known when it has gone out. */
const ownSecrets: string[] = [];
let database: TestDatabase;
let redis: TestRedis | undefined;
let connector: RunningConnector;
let logs = '';
let answers = '';
/** Which canaries stood in the answers of each call. */
const answered = new Map<string, Set<string>>();
/** The changes that the handler was called with and refused. */
let refused = 0;

/** Fails as a CRM's own code does: with what it knows in its message. */
const handlers: ChangeHandlers = {
  attempts: 1,
  onChange({ type }) {
    if (type !== 'message.created') return;
    refused += 1;
    const url = `postgres://crm:${CANARY.handlerPassword}@db.crm.example/crm`;
    throw new Error(
      `${url} with Authorization: Bearer ${CANARY.handlerToken} did not take "${CANARY.letter}"`,
      { cause: new Error(`token=${CANARY.handlerToken}\n${CANARY.fileAddress}`) },
    );
  },
};

/** Pairing, files and sends, which the scripted service has not. */
function answerMore({ method, path }: ServiceRequest): Fault | undefined {
  const connection = { id: 'c2', status: 'connecting', qr: PICTURE };
  const detail = { phoneNumber: PHONE, label: 'Desk', provider: 'qr', licenseStatus: 'trial' };
  switch (`${method} ${path}`) {
    case 'POST /connections':
      return { status: 201, body: { connection } };
    case 'GET /connections/c2':
      return { status: 200, body: { connection: { ...connection, ...detail } } };
    case 'POST /connections/c2/pairing-code':
      return { status: 200, body: { code: CANARY.pairingCode } };
    case 'POST /messages':
      return { status: 200, body: { messageId: 'm-sent', waMessageId: null, status: 'sent' } };
    case `GET /${CANARY.fileAddress}`:
      return { status: 200, body: CANARY.fileBytes, headers: { 'content-type': 'image/png' } };
  }
  return undefined;
}

const bearer = { authorization: `Bearer ${CANARY.token}` };

/** Asks the connector, and remembers what it let out under the name of the call. */
async function ask(call: string, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...bearer, 'content-type': 'application/json', ...init.headers };
  const answer = await fetch(`${connector.url}${path}`, { ...init, headers });
  note(call, `${JSON.stringify([...answer.headers])} ${await answer.clone().text()}`);
  return answer;
}

function note(call: string, text: string): void {
  answers += text;
  const seen = answered.get(call) ?? new Set();
  for (const name of findCanaries(text)) seen.add(name);
  answered.set(call, seen);
}

const post = (call: string, path: string, body: unknown, headers: Record<string, string> = {}) =>
  ask(call, path, { method: 'POST', body: JSON.stringify(body), headers });

beforeAll(async () => {
  service = await ScriptedService.start();
  service.secretPrefix = CANARY.issued;
  service.apiKeys.clear();
  service.apiKeys.add(CANARY.firstKey).add(CANARY.secondKey);
  service.addConnection('c1');
  service.addMessage('c1', systemClock.now(), { text: CANARY.letter });
  service.fault = answerMore;
  auth = await ScriptedAuthServer.start();
  auth.clientSecret = CANARY.clientSecret;
  auth.webhookSecret = CANARY.appWebhookSecret;
  auth.marks = { access: CANARY.oauthToken, refresh: CANARY.oauthToken, code: CANARY.oauthCode };
  auth.onAccess = (token, good) => (good ? service.apiKeys.add(token) : service.apiKeys.delete(token));
  database = await createTestDatabase({ connector: true });
  if (REDIS_MISSING === undefined) redis = await startTestRedis(['--rdbcompression', 'no']);
});
afterAll(async () => {
  await connector?.close();
  await redis?.stop();
  await service.close();
  await auth.close();
  await database.drop();
});

/** Starts the connector. In its first life it has no Redis and the older key, and knows a secret by hand. */
async function start(isFirst = false): Promise<RunningConnector> {
  return await runConnector({
    databaseUrl: database.url,
    redisUrl: isFirst ? undefined : redis?.url,
    host: '127.0.0.1',
    port: 0,
    role: 'all',
    apiToken: CANARY.token,
    sealingKeys: isFirst ? [CANARY.oldSealingKey] : [CANARY.sealingKey, CANARY.oldSealingKey],
    service: { baseUrl: service.baseUrl, apiKey: CANARY.firstKey },
    oauth: auth.app(service.baseUrl),
    webhookPublicUrl: 'https://crm.example/webhooks/messaging',
    webhookSecret: isFirst ? CANARY.configured : undefined,
    reconcileIntervalMs: HOUR_MS,
    inboxRetentionDays: 30,
    handlers,
    clock: systemClock,
    logger: logTo('trace', (line) => {
      logs += line;
    }),
  });
}

async function pair(): Promise<void> {
  const key = { 'idempotency-key': CANARY.requestKey };
  expect((await post('create', '/v1/connections', { label: 'Desk' }, key)).status).toBe(201);
  expect((await post('create', '/v1/connections', { label: 'Desk' }, key)).status).toBe(200);
  expect((await post('create, refused', '/v1/connections', { label: 'Other' }, key)).status).toBe(409);
  const code = '/v1/connections/c2/pairing-code';
  expect((await post('code', code, { phoneNumber: PHONE })).status).toBe(200);
  const ended = new AbortController();
  const stream = await fetch(`${connector.url}/v1/connections/c2/pairing`, {
    headers: bearer,
    signal: ended.signal,
  });
  let text = '';
  for await (const chunk of (stream.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.includes(CANARY.picture)) break;
  }
  note('pairing', text);
  ended.abort();
  // A picture in an answer that cannot be read: nobody quotes it.
  service.fault = (request) =>
    request.path.startsWith('/connections/c2')
      ? { status: 200, body: `{"qr":"${PICTURE}` }
      : answerMore(request);
  await ask('restart, broken', '/v1/connections/c2/restart', { method: 'POST' });
  await post('code, broken', code, { phoneNumber: PHONE });
  service.fault = answerMore;
}

/** Delivers a message, signed with the secret of the webhook or with another one. */
async function deliver(call: string, content: object, secret = String(service.webhook?.secret)) {
  const message = { wa_id: null, from: PHONE, text: CANARY.letter, timestamp: systemClock.now(), ...content };
  const body = JSON.stringify({ event: 'message.received', connection_id: 'c1', message });
  const headers = signDelivery(body, secret, systemClock.now());
  return await ask(call, '/webhooks/messaging', { method: 'POST', body, headers });
}

async function receiveFile(): Promise<void> {
  const media_url = `${service.baseUrl}/${CANARY.fileAddress}`;
  expect((await deliver('delivery', { id: 'm-file', media_url, media_type: 'image/png' })).status).toBe(200);
  const media = await ask('media', '/v1/messages/m-file/media');
  expect(await media.text()).toBe(CANARY.fileBytes);
  for (const fault of [{ status: 500, body: CANARY.fileBytes } as const, 'reset' as const]) {
    service.fault = (request) => (request.path.endsWith(CANARY.fileAddress) ? fault : answerMore(request));
    expect((await ask('media, refused', '/v1/messages/m-file/media')).ok).toBe(false);
  }
  service.fault = answerMore;
}

async function sendFile(): Promise<void> {
  const data = Buffer.from(CANARY.sentBytes).toString('base64');
  const media = { filename: 'a.png', mimetype: 'image/png', data };
  const body = { connectionId: 'c1', to: PHONE, media, reference: 'r1' };
  expect((await post('send', '/v1/messages', body)).status).toBe(202);
  expect((await post('send, again', '/v1/messages', body)).status).toBe(202);
  const other = { ...body, media: { ...media, caption: CANARY.letter } };
  expect((await post('send, refused', '/v1/messages', other)).status).toBe(409);
  await connector.settle();
  expect(await (await ask('outbound', '/v1/outbound')).text()).toContain('"state":"sent"');
  await ask('outbound trace', '/v1/messages/m-sent/trace');
}

/** Consents that are given, one that is refused, and a refresh that is. */
async function consent(): Promise<void> {
  const origin = auth.app('').publicUrl;
  const browser = new Browser({ [origin]: () => connector.url });
  const begin = async (body: object = {}): Promise<string> => {
    const answer = await post('consent', '/v1/accounts/oauth', body);
    const { authorizationUrl: startUrl } = (await answer.json()) as { authorizationUrl: string };
    const page = await browser.visit(startUrl);
    note('start', `${JSON.stringify([...page.headers])} ${page.text}`);
    const authorizationUrl = await browser.goOn(startUrl);
    ownSecrets.push(
      startUrl.split('/').at(-1) ?? '',
      new URL(authorizationUrl).searchParams.get('state') ?? '',
    );
    return authorizationUrl;
  };
  const comeBack = async (query: string, by = browser): Promise<number> => {
    const { headers, status, text } = await by.visit(`${origin}/oauth/callback?${query}`);
    note('callback', `${JSON.stringify([...headers])} ${text}`);
    return status;
  };
  const query = auth.approve(await begin());
  expect(await comeBack(query, new Browser({ [origin]: () => connector.url }))).toBe(403);
  expect(await comeBack(query)).toBe(200);
  expect(await comeBack(query)).toBe(200);
  const forged = auth.approve(await begin()).replace(CANARY.oauthCode, `${CANARY.oauthCode}x`);
  expect(await comeBack(forged)).toBe(502);
  ownSecrets.push(...auth.requests.flatMap(({ fields }) => fields.get('code_verifier') ?? []));
  ownSecrets.push(...browser.lines.flatMap((line) => /=([\w-]{43});/.exec(line)?.[1] ?? []));
  expect(ownSecrets).toHaveLength(8);

  const listed = await ask('accounts', '/v1/accounts');
  const { accounts } = (await listed.json()) as { accounts: { id: string; kind: string }[] };
  const accountId = accounts.find(({ kind }) => kind === 'oauth')?.id;
  for (const token of service.apiKeys) if (token.startsWith(CANARY.oauthToken)) service.apiKeys.delete(token);
  const token = `${CANARY.oauthToken}unread`;
  auth.fault = () => ({ status: 400, body: { error: token, error_description: token } });
  expect((await post('oauth sync', '/v1/sync', { accountId })).status).toBe(502);
  auth.fault = () => ({
    status: 200,
    body: { access_token: token, refresh_token: token, token_type: 'mac' },
  });
  expect(await comeBack(auth.approve(await begin()))).toBe(200);
  expect(logs).toContain('a token refresh failed');
}

/** Accounts and rotations that are taken, refused, malformed, or with an address at which nobody is. */
async function addAccounts(): Promise<void> {
  const { baseUrl } = service;
  const add = (body: object) => post('add account', '/v1/accounts', body);
  expect((await add({ baseUrl, apiKey: CANARY.secondKey })).status).toBe(201);
  for (const body of [
    { baseUrl, apiKey: CANARY.secondKey },
    { baseUrl, apiKey: CANARY.wrongKey },
    { baseUrl: 'http://127.0.0.1:9/api/v1', apiKey: CANARY.wrongKey },
    { baseUrl, apiKey: `${CANARY.wrongKey}\n` },
    { baseUrl, apiKey: CANARY.wrongKey, more: 1 },
    { baseUrl: `http://user:${CANARY.urlPassword}@127.0.0.1:9/`, apiKey: CANARY.wrongKey },
  ])
    expect((await add(body)).ok).toBe(false);
  const cutOff = { method: 'POST', body: `{"apiKey":"${CANARY.wrongKey}",` };
  expect((await ask('add account', '/v1/accounts', cutOff)).status).toBe(400);
  const rotate = () => post('rotation', '/v1/webhook/rotate', { accountId: 'default' });
  expect((await rotate()).status).toBe(200);
  service.fault = (request) =>
    request.path === '/webhook/rotate'
      ? { status: 429, body: { error: 'rate_limited' } }
      : answerMore(request);
  expect((await rotate()).status).toBe(429);
  service.fault = answerMore;
  const content = { id: 'm9', media_url: null, media_type: null };
  expect((await deliver('delivery', content)).status).toBe(200);
  expect((await deliver('delivery, forged', content, CANARY.wrongKey)).status).toBe(401);
  const authorization = `Bearer ${CANARY.wrongToken}`;
  expect((await ask('wrong token', '/v1/accounts', { headers: { authorization } })).status).toBe(401);
  service.apiKeys.delete(CANARY.firstKey);
  await post('sync, refused', '/v1/sync', { accountId: 'default' });
  service.apiKeys.add(CANARY.firstKey);
}

/** Polls and a start that fail on what is stored: a credential that does not open, and a table that is gone. */
async function breakStore(): Promise<void> {
  await changeDatabase(
    database.url,
    `update connector.accounts set sealed_credential = reverse(sealed_credential)`,
  );
  await changeDatabase(database.url, 'alter table connector.repair_totals rename to gone');
  await post('sync, broken', '/v1/sync', {});
  await ask('sync, broken', '/v1/sync');
  await post('rotation, broken', '/v1/webhook/rotate', { accountId: 'default' });
}

async function readMetrics(): Promise<string> {
  return await (await fetch(`${connector.url}/metrics`, { headers: bearer })).text();
}

/** What the two commands print of this database, which lost a message. */
async function runCommands(): Promise<{ doctor: string; replay: string }> {
  const opened = openForDoctor(database.url);
  const reports = await examine({
    settings: {
      databaseUrl: database.url,
      redisUrl: redis?.url,
      host: '127.0.0.1',
      port: Number(new URL(connector.url).port),
      apiToken: CANARY.wrongToken,
      sealingKeys: [CANARY.oldSealingKey],
      service: { baseUrl: service.baseUrl, apiKey: CANARY.wrongKey },
      reconcileIntervalMs: HOUR_MS,
      inboxRetentionDays: 30,
    },
    clock: systemClock,
    database: opened,
    migrations: MIGRATIONS,
  });
  await opened.close();
  expect(reports.filter(({ verdict }) => verdict === 'problem').map(({ check }) => check)).toContain(
    'sealing',
  );
  let replay = '';
  await changeDatabase(database.url, `update connector.messages set text = null where id = 'm-file'`);
  for (const json of [false, true]) {
    await runReplay(
      {
        options: { json },
        env: { DATABASE_URL: database.url },
        clock: systemClock,
        print: (text: string) => {
          replay += text;
        },
        warnOfTypo: () => undefined,
      } as unknown as Parameters<typeof runReplay>[0],
      { show: 50, signal: new AbortController().signal },
    );
  }
  expect(replay).toContain('m-file');
  return { doctor: writeReports(reports) + JSON.stringify(reports), replay };
}

it('secrets, QR codes, pairing codes, files and errors of the handler appear only where they belong', {
  timeout: 120_000,
}, async () => {
  const watched = redis === undefined ? undefined : await watchRedis(redis.url);
  await (await start(true)).close();
  connector = await start();
  await pair();
  await receiveFile();
  await connector.settle();
  await sendFile();
  await consent();
  await addAccounts();
  for (const call of ['dead-letters', 'messages', 'changes', 'messages/m-file/trace', 'sync', 'connections'])
    expect((await ask(call, `/v1/${call}`)).status).toBe(200);
  const letters = (await (await ask('dead-letters', '/v1/dead-letters')).json()) as {
    deadLetters: { lastError: string }[];
  };
  let metrics = await readMetrics();
  let stored = await dumpDatabase(database.url);
  const printed = await runCommands();
  await breakStore();
  metrics += await readMetrics();
  await connector.close();
  stored += await dumpDatabase(database.url);
  await start().then(
    (started) => started.close(),
    (error: unknown) => note('start, broken', String(error instanceof Error ? error.stack : error)),
  );
  const jobs = (await watched?.dump()) ?? '';
  watched?.close();

  // What was looked through is what it should be.
  expect(refused).toBeGreaterThan(0);
  for (const part of [
    'the webhook is registered',
    'stored secrets were sealed with the new key',
    'it is now a dead letter',
    'SealingError',
  ])
    expect(logs).toContain(part);
  for (const error of ['service_refused', 'service_unreachable']) expect(answers).toContain(error);
  for (const part of ['== connector.dead_letters', '"sealed_secret": "ey', CANARY.letter])
    expect(stored).toContain(part);
  expect(metrics).toContain('connector_slots{account="default",state="total"} 5');
  expect(metrics).toMatch(/connector_consumer_dead_letters\{consumer="handler"\} [1-9]/);
  if (watched !== undefined) expect(jobs).toContain('"key":"default"');
  expect(findCanaries(Object.values(CANARY).join(' '))).toEqual(Object.keys(CANARY));

  const shown = new Set(['letter', 'fileAddress']);
  const allowed: Record<string, Set<string>> = {
    create: new Set(['picture']),
    pairing: new Set(['picture']),
    code: new Set(['pairingCode']),
    media: new Set(['fileBytes']),
    messages: shown,
    changes: shown,
    'dead-letters': shown,
  };
  for (const [call, seen] of answered) expect([call, seen]).toEqual([call, allowed[call] ?? new Set()]);
  for (const { lastError } of letters.deadLetters)
    expect([lastError, findCanaries(lastError)]).toEqual([lastError, ['letter']]);
  expect(findCanaries(logs)).toEqual([]);
  expect(findCanaries(metrics)).toEqual([]);
  for (const secret of ownSecrets)
    expect([logs, metrics, stored, jobs, printed.doctor].filter((text) => text.includes(secret))).toEqual([]);
  expect(findCanaries(jobs)).toEqual([]);
  expect(findCanaries(printed.doctor)).toEqual([]);
  // A replay is there to show how messages differ.
  expect(findCanaries(printed.replay, ['letter'])).toEqual([]);
  expect(findCanaries(stored, ['letter', 'fileAddress', 'requestKey'])).toEqual([]);
});
