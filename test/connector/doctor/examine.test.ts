import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { PublicReach } from '../../../src/connector/doctor/check-input.ts';
import { serviceCheck } from '../../../src/connector/doctor/checks/service.ts';
import type { ServiceCalls } from '../../../src/connector/doctor/service-calls.ts';
import { createReceiverTally, type TallyKind } from '../../../src/connector/inbox/receiver-tally.ts';
import { ServiceRefusal } from '../../../src/connector/service-client/service-errors.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { generateSealingKey } from '../../../src/runtime/sealing/key-ring.ts';
import { openPool } from '../../support/database.ts';
import { silentLogger } from '../../support/platform.ts';
import { serve } from '../../support/serve.ts';
import { TEST_CERTIFICATE } from '../../support/tls-certificate.ts';
import type { ScriptedService } from '../support/scripted-service.ts';
import { ExaminedSystem, examineWith, having, passOn, told } from './examined-system.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

let system: ExaminedSystem;

/** An event about a message that the service has, too. */
function messageEvent(): object {
  const message = system.service.addMessage('c1', system.clock.now());
  const { id, text, createdAt: timestamp } = message;
  return {
    event: 'message.received',
    connection_id: 'c1',
    message: { id, wa_id: null, from: '447700900201', text, media_url: null, media_type: null, timestamp },
  };
}

async function deliverGood(): Promise<void> {
  expect(await system.deliver(messageEvent())).toBe(200);
}

/** Has polled two connections, and received one delivery. */
async function open(): Promise<void> {
  system = await ExaminedSystem.open();
  system.service.addConnection('c1', { licenseExpires: new Date(Date.now() + 90 * DAY_MS).toISOString() });
  system.service.addConnection('c2');
  await system.start();
  system.service.date = system.clock.now();
  await system.poll();
  await deliverGood();
}

const close = (): Promise<void> => system.close();

/** For tests that only change what the service and the address answer: they are as before in each test. */
function withOneSystem(): void {
  beforeAll(open);
  let webhook: ScriptedService['webhook'];
  beforeAll(() => {
    webhook = system.service.webhook;
  });
  beforeEach(() => {
    system.front = 'connector';
    Object.assign(system.service, {
      fault: () => undefined,
      date: system.clock.now(),
      requests: [],
      webhook,
    });
  });
  afterAll(close);
}

function withOwnSystem(): void {
  beforeEach(open);
  afterEach(close);
}

describe('a system without problems', () => {
  withOwnSystem();

  it('has no problem or warning in any check', async () => {
    system.service.events = [
      'message.received',
      'message.status',
      'connection.disconnected',
      'connection.connected',
    ];
    const reports = await system.examine();
    expect(reports.filter(({ verdict }) => verdict === 'problem' || verdict === 'warning')).toEqual([]);
    // Whether the receiver's counts are in the database already is a matter of time.
    const soon = ['signatures', 'answers'];
    expect(having(reports, 'not_checked').filter((check) => !soon.includes(check))).toEqual([
      'redis',
      'handler',
    ]);
    expect(new Set(reports.map(({ check }) => check)).size).toBe(26);
  });

  it('has a warning if the operating system may sort texts otherwise than the indexes', async () => {
    await system.database.query(
      `update pg_database set datcollversion = '2.36' where datname = current_database()`,
    );
    const reports = await system.examine();
    expect(told(reports, 'database')).toMatch(
      /^warning: The order of texts may have changed [\s\S]*version 2\.36 of its collation, and uses unknown\.\nRun: reindex database concurrently ("\S+")\nThen: alter database \1 refresh collation version$/,
    );
    expect(told(reports, 'numbers')).toMatch(/^ok/);
  });
});

describe('the service', () => {
  withOneSystem();

  it.each([
    [{ status: 401, body: { error: 'invalid_key' } }, 'unknown or was revoked', 'SERVICE_API_KEY'],
    [{ status: 403, body: { error: 'ip_not_allowed' } }, 'not on the allowlist', 'developer portal'],
    [
      { status: 403, body: { error: 'insufficient_scope' } },
      'lacks the scope messaging.read',
      'messaging.read',
    ],
    [{ status: 502, body: '<html>' }, 'fails', 'Wait'],
    [{ status: 404, body: '<html>' }, 'refuses the call', '/api/v1'],
    [{ status: 200, body: '<html>' }, 'cannot be read', 'SERVICE_BASE_URL'],
    ['reset', 'was closed unexpectedly', 'proxy'],
  ] as const)('is reported if it answers %j', async (fault, says, advice) => {
    system.service.fault = () => fault;
    const reports = await system.examine();
    expect(told(reports, 'service')).toMatch(/^problem/);
    expect(told(reports, 'service')).toContain(says);
    expect(told(reports, 'service')).toContain(advice);
    if (advice !== 'messaging.read')
      expect(told(reports, 'scopes')).toBe('not_checked: The service could not be queried.');
    // The checks of the database and of the webhook's address run nevertheless.
    expect(told(reports, 'webhook-address')).toMatch(/^ok/);
    expect(told(reports, 'numbers')).toMatch(/^ok/);
    expect(told(reports, 'reading')).toMatch(/^ok/);
  });

  it('is not said to need another API key if it refuses an access token', async () => {
    const error = new ServiceRefusal({ status: 401, code: 'invalid_key' });
    const service = { connections: async () => ({ ok: false, error }) } as unknown as ServiceCalls;
    const account = { id: 'of-oauth', kind: 'oauth', subscriptionId: 's', configured: false } as const;
    const found = await serviceCheck.run({
      ...{ account: { ...account, baseUrl: null, webhookUrl: null }, service, settings: system.settings },
      ...{ clock: systemClock, signal: new AbortController().signal, database: null, reach: {} },
    });
    expect(found).toMatchObject({ verdict: 'problem', says: 'The service refuses the access token.' });
    expect(JSON.stringify(found)).not.toContain('key ');
  });

  it('is reported if it does not listen, or does not use TLS', async () => {
    const { apiKey } = system.settings.service ?? { apiKey: '' };
    const at = (baseUrl: string) => system.ask('service', { service: { baseUrl, apiKey } });
    expect(await at(`http://127.0.0.1:${system.closedPort}/api/v1`)).toMatch(
      /^problem: Nothing listens at 127\.0\.0\.1:\d+ \(ECONNREFUSED\)/,
    );
    expect(await at(system.service.baseUrl.replace('http:', 'https:'))).toMatch(
      /^problem: A trusted TLS connection to 127\.0\.0\.1:\d+ cannot be established/,
    );
  });

  it('is reported with what does not work if it refuses a scope in use', async () => {
    system.service.fault = ({ path }) =>
      /^\/(?:webhook|messages\/read|connections\/.+)$/.test(path)
        ? { status: 403, body: { error: 'insufficient_scope' } }
        : undefined;
    const reports = await system.examine();
    // The webhook is registered elsewhere by hand, and nothing was ever sent.
    const unused = await system.ask('scopes', { webhookPublicUrl: undefined });
    await system.database.query(
      `insert into connector.outbound (id, account_id, connection_id, reference, fingerprint, recipient, text,
         idempotency_key, state, created_at, updated_at)
       values ('s1', 'default', 'c1', 'r1', 'f', '447700900201', 'Hello', 'k1', 'rejected', $1::bigint, $1::bigint)`,
      [system.clock.now() - DAY_MS],
    );
    const sends = await system.ask('scopes', { webhookPublicUrl: undefined });
    await system.database.query(`delete from connector.outbound where id = 's1'`);
    expect(told(reports, 'scopes')).toMatch(
      /^problem: The credential lacks messaging\.events, which this deployment needs\.\n.*WEBHOOK_PUBLIC_URL[\s\S]*Without messaging\.send/,
    );
    expect(told(reports, 'webhook')).toBe('not_checked: The credential lacks the scope messaging.events.');
    expect(unused).toMatch(
      /^ok: The credential has every scope that is in use\.\nWithout messaging\.send, POST \/v1\/messages[\s\S]*Without messaging\.events/,
    );
    expect(sends).toMatch(/^problem: The credential lacks messaging\.send, which this deployment needs\./);
  });

  it('receives no call that changes anything', async () => {
    await system.examine();
    const asked = system.service.requests.map(({ method, path }) => `${method} ${path}`);
    // The connector may poll meanwhile.
    expect(asked).toEqual(
      expect.arrayContaining(['GET /connections', 'GET /connections/doctor-asks-for-none', 'GET /webhook']),
    );
    expect(asked.filter((call) => !call.startsWith('GET '))).toEqual(['POST /messages/read']);
  });

  it('is reported if its clock differs', async () => {
    system.service.date = system.clock.now() + 4 * MINUTE_MS;
    expect(await system.ask('clock')).toMatch(
      /^warning: The clocks differ by 4 min\.[\s\S]*4 min ahead of ours/,
    );
    system.service.date = system.clock.now() - 6 * MINUTE_MS;
    expect(await system.ask('clock')).toMatch(
      /^problem: The clocks differ so much that every delivery is refused\.[\s\S]*6 min behind ours/,
    );
    system.service.date = system.clock.now();
    expect(await system.ask('clock')).toMatch(/^ok/);
  });
});

describe('the webhook', () => {
  withOneSystem();

  it('is reported if it was registered elsewhere', async () => {
    expect(await system.ask('webhook', { webhookPublicUrl: undefined })).toMatch(
      /^not_checked: WEBHOOK_PUBLIC_URL/,
    );
    system.service.webhook = { url: 'https://other.example/hooks', secret: 'whsec_other' };
    expect(await system.ask('webhook')).toMatch(
      /^problem: The service delivers to a different address, not to this connector\.[\s\S]*other\.example\/hooks[\s\S]*hooks\.example\.com[\s\S]*registered its own address[\s\S]*restart the connector/,
    );
    system.service.webhook = null;
    expect(await system.ask('webhook')).toMatch(
      /^problem: The service has no webhook for this account, so it delivers nothing/,
    );
  });

  it.each([
    [{ status: 200 }, 'Something other than this receiver answers'],
    [{ status: 302, headers: { location: 'https://login.example/?next=secret' } }, 'follows no redirects'],
    [{ status: 502 }, 'A proxy answers, but does not reach the connector.'],
    [{ status: 401, headers: { 'www-authenticate': 'Basic' } }, 'Something other than this receiver answers'],
  ])('is reported if its address answers %j', async (front, says) => {
    system.front = front;
    const answer = await system.ask('webhook-address');
    expect(answer).toMatch(/^problem/);
    expect(answer).toContain(says);
    expect(answer).not.toContain('next=');
  });

  it('is reported if its path is not that of the receiver, although the service is on this machine', async () => {
    const webhookPublicUrl = 'https://crm.example/hooks';
    const reports = await examineWith(
      { ...system.settings, webhookPublicUrl },
      { databaseUrl: system.settings.databaseUrl ?? '', clock: system.clock },
    );
    expect(told(reports, 'webhook-address')).toMatch(
      /^warning: WEBHOOK_PUBLIC_URL has the path \/hooks, [\s\S]*must lead to \/webhooks\/messaging/,
    );
  });

  it('is reported if its certificate expires within 14 days', async () => {
    const lookup: PublicReach['lookup'] = (_host, _options, done) =>
      done(null, [{ address: '127.0.0.1', family: 4 }]);
    const daysBefore = async (days: number): Promise<string> => {
      const clock = { ...systemClock, now: () => Date.UTC(2120, 0, 1) - days * DAY_MS };
      const reach = { ca: TEST_CERTIFICATE.cert, lookup };
      return told(await examineWith(system.settings, { clock, reach }), 'webhook-address');
    };
    expect(await daysBefore(14)).toMatch(/^ok/);
    expect(await daysBefore(13)).toMatch(/^warning: The certificate of .* expires in 13 days\./);
  });

  it('is reported if its path belongs to no subscription, or its certificate is not trusted', async () => {
    const url = system.settings.webhookPublicUrl ?? '';
    expect(await system.ask('webhook-address', { webhookPublicUrl: `${url}/sub-of-nobody` })).toContain(
      'A connector answers at the address, but does not know this webhook path.',
    );
    const wrongName = url.replace('hooks.example.com', 'other.example.com');
    // What was counted is in the database now.
    await system.stop();
    await system.database.query('update connector.subscriptions set rotation_pending_at = $1::bigint', [
      system.clock.now() - 61_000,
    ]);
    expect(await system.ask('webhook')).toMatch(/^warning: A replacement of the signing secret has started/);
    await system.database.query('update connector.subscriptions set rotation_pending_at = null');
    await system.start();
    system.clock.shift(59 * MINUTE_MS);
    expect(await system.ask('webhook-address', { webhookPublicUrl: wrongName })).toMatch(
      /^warning: A trusted TLS connection to other\.example\.com:\d+ cannot be established[\s\S]*Deliveries arrive nevertheless/,
    );
    await system.database.query('delete from connector.receiver_tallies');
    expect(await system.ask('webhook-address', { webhookPublicUrl: wrongName })).toMatch(
      /^problem: A trusted TLS connection to other\.example\.com:\d+ cannot be established[\s\S]*ALTNAME[\s\S]*for a different name/,
    );
  });
});

describe('the webhook of an old consent', () => {
  withOwnSystem();

  it('is reported to receive only message.received', async () => {
    system.service.events = ['message.received'];
    expect(await system.ask('events')).toMatch(
      /^problem: The service delivers only message\.received, because the consent is old[\s\S]*consent to the app again/,
    );
    // Where the service does not say, the messages do: none of these statuses came by webhook. No status of a cloud_api
    // number ever does.
    system.service.events = [];
    system.service.addConnection('cloud', { provider: 'cloud_api' });
    const send = async (connectionId: string, delivers = true) => {
      for (let sent = 0; sent < 3; sent += 1) {
        if (delivers) await deliverGood();
        system.service.addSent(connectionId, system.clock.now(), 'read');
      }
      await system.poll();
    };
    // If hardly anything arrives, nothing is known about the types.
    await send('c1', false);
    expect(await system.ask('events')).toMatch(/^not_checked: The service lists no event types/);
    await send('cloud');
    expect(await system.ask('events')).toMatch(
      /^problem: The service delivers only message\.received, because the consent is old[\s\S]*the status of 0 of 3 outgoing messages/,
    );
  });
});

/** The port of a proxy that passes on webhooks and the API, and nothing else, as the shipped one does. */
async function openProxy(): Promise<number> {
  const proxy = createServer((request, response) => {
    if (!/^\/(?:v1|webhooks)\//.test(request.url ?? '')) return void response.writeHead(404).end();
    passOn(system.url, request, response);
  });
  const { port, close } = await serve(proxy);
  onTestFinished(close);
  return port;
}

describe('the settings', () => {
  withOneSystem();

  it('are reported with the account if their encryption key opens no secret', async () => {
    expect(await system.ask('sealing', { sealingKeys: [generateSealingKey()] })).toMatch(
      /^problem: 2 stored secrets cannot be opened[\s\S]*credential of default \(unknown_key\), secret of default \(unknown_key\)/,
    );
    const [key = ''] = system.settings.sealingKeys;
    expect(await system.ask('sealing', { sealingKeys: [generateSealingKey(), key] })).toMatch(
      /^warning: Some secrets are still sealed with an older key/,
    );
  });

  it('are reported if they have changed since the start', async () => {
    const service = { baseUrl: system.service.baseUrl, apiKey: 'another-key-of-the-account' };
    expect(await system.ask('account', { service })).toMatch(/^warning: SERVICE_API_KEY changed/);
    // As with an OAuth app, whose accounts are in the database.
    expect(await system.ask('account', { service: undefined })).toBe(
      'ok: SERVICE_API_KEY is not set; one account is stored.',
    );
    expect(await system.ask('connector', { apiToken: randomBytes(24).toString('base64url') })).toMatch(
      /^warning: The connector runs and is ready, but with a CONNECTOR_API_TOKEN that differs/,
    );
  });

  it('are reported if their port belongs to another server, or to none', async () => {
    const port = Number(new URL(system.service.baseUrl).port);
    expect(await system.ask('connector', { port })).toMatch(
      /^problem: Something other than the connector[\s\S]*proxy/,
    );
    expect(await system.ask('connector', { port: system.closedPort })).toMatch(
      /^not_checked: Nothing listens/,
    );
  });

  it('are not taken for wrong if a proxy at their port does not forward the probes', async () => {
    const port = await openProxy();
    expect(await system.ask('connector', { port })).toMatch(
      /^ok: The connector answers behind a proxy, which does not forward \/readyz\./,
    );
    expect(await system.ask('connector', { port, apiToken: randomBytes(24).toString('base64url') })).toMatch(
      /^warning: The connector answers behind a proxy, but with a CONNECTOR_API_TOKEN that differs/,
    );
    expect(await system.ask('connector', { port, apiToken: undefined })).toMatch(
      /^ok: The connector answers/,
    );
  });
});

describe('an account', () => {
  withOneSystem();

  it('without messages has been read', async () => {
    await system.poll();
    const [row] = await system.database.query<{ watermark: number }>(
      'with u as (update connector.coverage set watermark = null) select watermark from connector.coverage',
    );
    expect(await system.ask('polls')).toMatch(/^ok: .*\n.* ago\. The list of messages is empty\.$/);
    await system.database.query('update connector.coverage set watermark = $1::bigint', [row?.watermark]);
  });

  it('is reported if records of its lists cannot be read, with their day', async () => {
    const odd = system.service.addMessage('c1', Date.UTC(2026, 0, 14, 12), { shown: { id: {} } });
    system.service.addMessage('c1', odd.createdAt + 1);
    await system.poll();
    expect(await system.ask('reading')).toMatch(
      /^warning: The message list contains records without[\s\S]*Days on which their pages end: \d{4}-\d\d-\d\d\./,
    );
  });

  it('is reported if its polls fail', async () => {
    system.service.fault = ({ path }) => (path === '/messages' ? { status: 500, body: {} } : undefined);
    await system.poll();
    expect(await system.ask('polls')).toMatch(
      /^problem: Polls fail\.[\s\S]*failed in a row, the last with http_500/,
    );
    system.service.fault = () => undefined;
    await system.poll();
    expect(await system.ask('polls')).toMatch(/^ok/);
  });

  it('is reported if the service refused its credential, until it has a new one', async () => {
    await system.database.query(
      'update connector.poll_states set refused_credential_version = (select credential_version from connector.accounts)',
    );
    expect(await system.ask('polls')).toMatch(/^problem: The service refused this credential/);
    await system.database.query('update connector.accounts set credential_version = credential_version + 1');
    expect(await system.ask('polls')).toMatch(/^ok/);
  });

  it('is reported if it was never polled, but not while its first poll lasts', async () => {
    await system.database.query('update connector.poll_states set last_good_at = null');
    expect(await system.ask('polls')).toMatch(/^ok/);
    await system.database.query('update connector.poll_states set last_started_at = null');
    expect(await system.ask('polls')).toMatch(/^problem: The account has never been polled\./);
  });

  it('is reported if its next poll is late by more than the time between polls', async () => {
    await system.poll();
    await system.database.query('update connector.poll_states set due_at = last_started_at + 45000');
    // The lock keeps the worker from polling meanwhile.
    await system.database.transaction(async (tx) => {
      await tx.query('select from connector.poll_states for update');
      system.clock.shift(70_000);
      expect(await system.ask('polls')).toMatch(/^ok/);
      system.clock.shift(30_000);
      expect(await system.ask('polls')).toMatch(/^warning: The next poll is \d+(\.\d)? s late\./);
    });
  });

  it('is reported if its service refuses the cursors that it issues', async () => {
    system.service.addMessages('c1', 150, (index) => system.clock.now() - index);
    system.service.fault = ({ query }) =>
      query.has('cursor') ? { status: 400, body: { error: 'invalid_request', field: 'cursor' } } : undefined;
    for (const _again of [1, 2]) {
      expect((await system.call('POST', '/v1/sync', {})).status).toBe(502);
      system.clock.shift(MINUTE_MS);
    }
    expect(await system.ask('polls')).toMatch(
      /^problem: Polls fail\.[\s\S]*stalled_list[\s\S]*pages of GET \/messages lead nowhere/,
    );
    system.service.fault = () => undefined;
    // A poll that was due may have failed a moment ago.
    system.clock.shift(10 * MINUTE_MS);
    await system.poll();
    expect(await system.ask('polls')).toMatch(/^ok/);
  });

  it('is reported if its connections have no license, a short one, or wait for a scan', async () => {
    const [first, second] = system.service.connections;
    if (first === undefined || second === undefined) throw new Error('the service has two connections');
    first.licenseExpires = new Date(system.clock.now() + DAY_MS).toISOString();
    first.status = 'disconnected';
    second.licenseValid = false;
    system.service.account.slots = { total: 2, used: 2, available: 0, nextExpiry: null };
    // Slots are read again after five minutes.
    system.clock.shift(6 * MINUTE_MS);
    await system.poll();
    const numbers = await system.ask('numbers');
    expect(numbers).toMatch(
      /problem: 1 connection is without[\s\S]*c2[\s\S]*No slot is free: 2 of 2 are used\./,
    );
    expect(numbers).toMatch(/warning: 1 license ends within 3 days\.\nc1 \(Label of c1\) in 24 h/);
    expect(numbers).toMatch(/warning: 1 connection needs to be paired again\.\nc1/);
    first.licenseExpires = new Date(system.clock.now() + 90 * DAY_MS).toISOString();
    first.status = 'open';
    second.licenseValid = true;
    await system.poll();
    expect(having(await system.examine(), 'problem')).not.toContain('numbers');
  });

  it('is reported if only polling found some events', async () => {
    system.service.addMessage('c2', system.clock.now());
    await system.poll();
    // What polling found is judged 40 s later.
    system.clock.shift(MINUTE_MS);
    await system.poll();
    const reports = await system.examine();
    // No webhook has ever reported c2.
    expect(told(reports, 'missed-events')).toMatch(
      /^problem: No webhook arrives, although polls find messages\.[\s\S]*Connections: c1 \(Label of c1\), c2 \(Label of c2\)\./,
    );
    expect(told(reports, 'missed-events')).toMatch(
      /The sender of \d+ incoming messages? of the last 24 h is unknown/,
    );
    await system.database.query('update connector.messages set created_at = created_at - $1::bigint', [
      DAY_MS,
    ]);
    expect(await system.ask('missed-events')).not.toContain('The sender of');
  });

  it('is reported if its newest message is dated after both clocks, until then', async () => {
    const { id } = system.service.addMessage('c1', system.clock.now() + 76.4 * MINUTE_MS);
    await system.poll();
    expect(await system.ask('polls')).toMatch(
      new RegExp(`^warning: The newest message is dated 76 min in the future\\.\nIt is ${id}\\.`),
    );
    system.clock.shift(77 * MINUTE_MS);
    await system.poll();
    expect(await system.ask('polls')).toMatch(/^ok/);
  });
});

describe('several accounts', () => {
  withOwnSystem();

  it('are each checked with their own key and webhook', async () => {
    const ours = system.service.webhook;
    system.service.apiKeys.add('key-of-a-second');
    const added = await system.call('POST', '/v1/accounts', {
      baseUrl: system.service.baseUrl,
      apiKey: 'key-of-a-second',
    });
    expect(added.status).toBe(201);
    system.service.webhook = ours;
    expect(told(await system.examine(), 'service')).toMatch(
      /^ok: .*\n.*\nwarning: The list has connections that another account shows, .*\nGET .*\nc1 belongs to account default\.\nc2 belongs/,
    );
    system.service.apiKeys.delete('key-of-a-second');
    const reports = await system.examine();
    const of = (check: string) =>
      reports
        .filter((report) => report.check === check)
        .map(({ accountId, verdict }) => [accountId === 'default', verdict]);
    expect(of('service')).toEqual([
      [true, 'ok'],
      [false, 'problem'],
    ]);
    expect(of('webhook')).toEqual([
      [true, 'ok'],
      [false, 'not_checked'],
    ]);
    expect(JSON.stringify(reports)).not.toContain('key-of-a-second');
    // A key in the settings would be that of another account.
    expect(told(reports, 'service')).not.toContain('SERVICE_API_KEY');
    expect(told(reports, 'service')).toMatch(/remove the account \(DELETE \/v1\/accounts\/\S+\) and add it/);
    system.service.fault = () => ({ status: 404, body: '<html>' });
    const [, second] = (await system.examine()).filter(({ check }) => check === 'service');
    expect(second).toMatchObject({
      evidence: [expect.any(String), `baseUrl of the account is ${system.service.baseUrl}.`],
      advice: ['Check baseUrl of the account: it must be the complete base address, including /api/v1.'],
    });
  });
});

/** Polls twice, so that what no webhook reported has been judged. */
async function pollAndJudge(): Promise<void> {
  await system.poll();
  system.clock.shift(MINUTE_MS);
  await system.poll();
}

describe('refused deliveries', () => {
  withOwnSystem();

  it('are no problem while no event is missing: one forged request, or many with absurd timestamps', {
    timeout: 240_000,
  }, async () => {
    system.clock.shift(MINUTE_MS);
    const forged = { event: 'message.received', connection_id: 'c1', message: { id: 'forged' } };
    expect(await system.deliver(forged, { secret: 'guessed' })).toBe(401);
    for (const signedAt of [9_999_999_999_999, 1_000_000_000_000]) {
      for (let count = 0; count < 100; count += 50) {
        const deliveries = Array.from({ length: 50 }, () =>
          system.deliver(forged, { secret: 'guessed', signedAt }),
        );
        expect(new Set(await Promise.all(deliveries))).toEqual(new Set([401]));
      }
    }
    await pollAndJudge();
    await system.stop();
    const reports = await system.examine();
    expect(having(reports, 'problem')).not.toContain('signatures');
    expect(reports.filter(({ broken }) => broken === true)).toEqual([]);
    const signatures = told(reports, 'signatures');
    expect(signatures).toMatch(
      /^warning: Requests are refused because of their signatures, but no event is missing/,
    );
    expect(signatures).not.toContain('rotate');
    for (const check of ['clock', 'answers']) expect(told(reports, check)).not.toMatch(/^not_checked/);
  });

  it('with a wrong secret are reported as such', async () => {
    expect(await system.deliver(messageEvent(), { secret: 'whsec_of_before' })).toBe(401);
    await pollAndJudge();
    await system.stop();
    expect(await system.ask('signatures')).toMatch(
      /^problem: Deliveries are refused: they are signed with a different secret[\s\S]*1 was refused with a wrong signature/,
    );
    // What was missed a day ago does not show that a request is from the service now.
    system.clock.shift(DAY_MS + MINUTE_MS);
    await system.start();
    expect(await system.deliver(messageEvent(), { secret: 'guessed' })).toBe(401);
    await system.stop();
    expect(await system.ask('signatures')).toMatch(/^warning: Requests are refused because of their sign/);
  });

  it('are reported after the first poll, before what it found has been judged', async () => {
    expect(await system.deliver(messageEvent(), { secret: 'whsec_of_before' })).toBe(401);
    await system.poll();
    await system.stop();
    // Whatever is refused at once has had its three attempts after 2 s.
    system.clock.shift(5_000);
    expect(await system.ask('signatures')).toMatch(
      /^problem: Deliveries are refused: they are signed with a different secret/,
    );
    // The service gave up on it; the next delivery has a valid signature.
    await system.start();
    await deliverGood();
    await system.stop();
    expect(await system.ask('signatures')).toMatch(/^ok: The last deliveries had valid signatures/);
  });

  it('with a wrong clock are reported as such, until a delivery is accepted', async () => {
    const signedAt = system.clock.now() - 7 * MINUTE_MS;
    expect(await system.deliver(messageEvent(), { signedAt })).toBe(401);
    await pollAndJudge();
    await system.stop();
    expect(await system.ask('signatures')).toMatch(
      /^problem: Deliveries are refused because they were signed 7 min ago/,
    );
    await system.start();
    await deliverGood();
    await system.stop();
    const over = await system.ask('signatures');
    expect(over).toMatch(/^ok: The last deliveries had valid signatures/);
    expect(over).toContain('1 was refused with a timestamp more than 5 min old');
  });

  it('are not the only problem: late answers are reported as well', async () => {
    await system.stop();
    expect(await system.ask('answers')).toMatch(/^ok: Deliveries are answered quickly/);
    const url = system.settings.databaseUrl ?? '';
    const database = openPool(url);
    onTestFinished(() => database.close());
    const noted = async (...[kind, ms]: [kind: TallyKind, ms?: number]): Promise<string> => {
      const tally = createReceiverTally({ database, clock: system.clock, logger: silentLogger });
      system.clock.shift(1_000);
      tally.note('default', kind, ms);
      await tally.close();
      return await system.ask('answers');
    };
    await noted('accepted', 2_000);
    expect(await noted('accepted', 1_000)).toMatch(
      /^ok: [\s\S]*, in 1(?:\.[0-3])? s on average and 2 s at most/,
    );
    expect(await noted('accepted', 7_000)).toMatch(
      /^warning: Some answers were close to the time limit[\s\S]*7 s at most/,
    );
    expect(await noted('unavailable')).toMatch(
      /^problem: Deliveries fail because they are not stored in time\.[\s\S]*1 was answered with 503/,
    );
    expect(await noted('accepted', 12)).toMatch(
      /^warning: Some deliveries of the last hour failed, but deliveries are accepted again\.[\s\S]*1 was answered with 503/,
    );
    system.clock.shift(30 * MINUTE_MS);
    await noted('undecided');
    system.clock.shift(11 * MINUTE_MS);
    expect(await system.ask('answers')).toMatch(
      /^warning: The last deliveries failed, and none has arrived since\./,
    );
    // A late one says nothing about the clocks if another one was not late.
    await noted('age', 0);
    await noted('age', MINUTE_MS);
    system.service.date = system.clock.now();
    expect(await system.ask('clock')).toMatch(/^ok: The clocks agree\.[\s\S]* to 60 s old by our clock/);
  });
});

describe('work that does not proceed', () => {
  withOwnSystem();

  it('of webhooks is no longer reported an hour later if they have arrived since', async () => {
    const warned = /^warning: Some events of the last 24 h never arrived\./;
    for (const isLater of [false, true]) {
      system.service.addMessage('c1', system.clock.now());
      await pollAndJudge();
      if (isLater) system.clock.shift(120 * MINUTE_MS);
      else await deliverGood();
      expect(await system.ask('missed-events')).toMatch(warned);
    }
    await deliverGood();
    expect(await system.ask('missed-events')).toMatch(
      /^ok: Some events never arrived, but webhooks have arrived since\./,
    );
  });

  it('is reported if no process runs', async () => {
    system.service.fault = ({ method, path }) =>
      `${method} ${path}` === 'POST /messages' ? { status: 502, body: { error: 'send_failed' } } : undefined;
    const send = { connectionId: 'c1', to: '447700900201', text: 'Good morning', reference: 'order-1' };
    expect((await system.call('POST', '/v1/messages', send)).status).toBe(202);
    const errors = () => system.database.query('select last_error as error from connector.outbound');
    await expect.poll(errors).toEqual([{ error: 'send_failed' }]);
    await system.stop();
    system.service.fault = () => undefined;
    // As a process leaves it that is killed between a commit and its number.
    await system.database.query(
      `with batch as (insert into connector.change_batches (id, size, changed_at) values (nextval('connector.change_batch_id'), 1, $1::bigint) returning id)
       insert into connector.changes (batch, position, type, at, account_id, connection_id, source)
       select id, 1, 'connection.updated', $1::bigint, 'default', 'c1', 'api' from batch`,
      [system.clock.now()],
    );
    system.clock.shift(3 * MINUTE_MS);
    expect(await system.ask('sends')).toMatch(
      /^warning: Sends are due and have not begun, the latest for \d+ (?:s|min)\./,
    );
    system.clock.shift(7 * MINUTE_MS);
    const reports = await system.examine();
    expect(told(reports, 'connector')).toMatch(/^not_checked: Nothing listens/);
    expect(told(reports, 'webhook-address')).toMatch(
      /^problem: A proxy answers, but does not reach the connector\./,
    );
    expect(told(reports, 'polls')).toMatch(/^problem: No poll has started for/);
    expect(told(reports, 'processes')).toMatch(/^problem: No process polls or sends/);
    expect(told(reports, 'feed')).toMatch(
      /^problem: Changes are not numbered, so no reader sees them\.[\s\S]*the oldest for 10 min/,
    );
    expect(told(reports, 'sends')).toMatch(
      /^problem: Sends stand still[\s\S]*1 send is due: c1 \(.*send_failed.*\)\.\n1 send waits in total, the oldest for 10 min\./,
    );
  });
});
