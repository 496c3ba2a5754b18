import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { connectorAccountList } from '../../../src/contract/connector/accounts.ts';
import { connectorConnection, connectorConnectionList } from '../../../src/contract/connector/connections.ts';
import { connectorErrorBody } from '../../../src/contract/connector/errors.ts';
import { findingList } from '../../../src/contract/connector/findings.ts';
import { connectorMessage, connectorMessageList } from '../../../src/contract/connector/messages.ts';
import { healthAnswer, syncResult, syncStatus } from '../../../src/contract/connector/sync.ts';
import { openPool } from '../../support/database.ts';
import { startFaultProxy } from '../../support/fault-proxy.ts';
import { proves } from '../../support/proves.ts';
import { received } from '../support/event-fixtures.ts';
import { type Answer, connectorOfFile, WEBHOOK_URL } from '../support/running-connector.ts';

/** The time of the first poll. A later one that finds nothing does not write how far it got. */
let polledAt: string;
/** Ids of the service's messages in the order of the list: newest first, then by id. */
let expectedIds: string[];

const { world, running } = connectorOfFile(({ service, clock, database }) => {
  service.addConnection('c1', { label: 'Front desk' });
  service.addConnection('c2', { provider: 'cloud_api', status: 'disconnected' });
  for (let index = 0; index < 25; index += 1) {
    service.addMessage(index % 2 === 0 ? 'c1' : 'c2', clock.now() - Math.floor(index / 5) * 1_000, {
      direction: index % 3 === 0 ? 'outgoing' : 'incoming',
    });
  }
  expectedIds = [...service.messages]
    .sort((a, b) => b.createdAt - a.createdAt || a.id.localeCompare(b.id))
    .map((message) => message.id);
  return { database };
});
beforeAll(async () => {
  await running.ask('POST', '/v1/sync');
  polledAt = new Date(world.clock.now()).toISOString();
});

const get = (path: string) => running.ask('GET', path);

function refusal(answer: Answer) {
  return { status: answer.status, ...connectorErrorBody.parse(answer.body) };
}

describe('the token', () => {
  it.each([
    ['no token', null],
    ['a wrong token', 'connector-tokem'],
    ['a longer token', 'connector-token1'],
    ['an empty token', ''],
  ])('is required everywhere under /v1: %s', async (_what, token) => {
    for (const path of ['/v1/messages', '/v1/changes', '/v1/nowhere', '/v1/connections/c1', '/metrics']) {
      const answer = await running.ask('GET', path, { token });
      expect(refusal(answer)).toMatchObject({ status: 401, error: 'unauthorized' });
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
  });

  it('is accepted whatever the case of its scheme, and its answers are stored nowhere', async () => {
    const headers = { authorization: 'bearer connector-token' };
    const answer = await running.ask('GET', '/v1/messages', { token: null, headers });
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
  });

  it('is not required for probes', async () => {
    for (const path of ['/healthz', '/readyz']) {
      expect((await running.ask('GET', path, { token: null })).status).toBe(200);
    }
  });
});

describe('messages', () => {
  async function readAll(query: string): Promise<string[]> {
    const ids: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { status, body } = await get(`/v1/messages?${query}${cursor === '' ? '' : `&cursor=${cursor}`}`);
      expect(status).toBe(200);
      const page = connectorMessageList.parse(body);
      expect(page.hasMore).toBe(page.nextCursor !== null);
      ids.push(...page.messages.map((message) => message.id));
      cursor = page.nextCursor;
    }
    return ids;
  }

  it.each([1, 3, 7, 25, 100])('are listed newest first, each exactly once, in pages of %i', async (limit) => {
    expect(await readAll(`limit=${limit}`)).toEqual(expectedIds);
  });

  it('are filtered by connection, direction, peer and account', async () => {
    const of = (connectionId: string) =>
      new Set(
        world.service.messages.filter((each) => each.connectionId === connectionId).map((each) => each.id),
      );
    expect(new Set(await readAll('connectionId=c1&limit=4'))).toEqual(of('c1'));
    expect(await readAll('connectionId=nobody')).toEqual([]);
    const outgoing = world.service.messages
      .filter((each) => each.direction === 'outgoing')
      .map((each) => each.id);
    expect((await readAll('direction=outgoing&limit=2')).sort()).toEqual(outgoing.sort());
    expect(await readAll('peer=15550000000')).toEqual([]);
    expect(await readAll('accountId=default')).toHaveLength(25);
    expect(await readAll('accountId=other')).toEqual([]);
  });

  it.each(['160958311837878@lid', '120363020000000000@g.us', '+447700900902', 'status@broadcast', 'Zoë 5%'])(
    'are filtered by the other party %s, as it is shown',
    async (peer) => {
      const facts = received('c1', `of ${peer}`.replace(/[^\x21-\x7e]/g, '.'), {
        accountId: 'default',
        peer,
      });
      await commitBatch(world.database, { now: world.clock.now(), messages: [facts] });
      const { body } = await get(`/v1/messages/${encodeURIComponent(facts.messageId)}`);
      expect(await readAll(`peer=${encodeURIComponent(String(body['peer']))}`)).toEqual([facts.messageId]);
      await world.database.query('DELETE FROM connector.messages WHERE id = $1', [facts.messageId]);
    },
  );

  it('can be read one at a time', async () => {
    const [id] = expectedIds;
    const { status, body } = await get(`/v1/messages/${id}`);
    expect(status).toBe(200);
    expect(connectorMessage.strict().parse(body)).toMatchObject({
      id,
      firstSeenBy: 'poll',
      peer: null,
      customerRef: null,
    });
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=1.5', 'limit'],
    ['limit=', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['direction=sideways', 'direction'],
    ['cursor=', 'cursor'],
    ['cursor=AAAA', 'cursor'],
    ['cursor=%00', 'cursor'],
    [`cursor=${Buffer.from('[1,"\\u0000","c1"]').toString('base64url')}`, 'cursor'],
    // Only what we have written ourselves, so that a cursor has one form.
    [`cursor=${Buffer.from('[1, "m", "c1"]').toString('base64url')}`, 'cursor'],
    ['peer=%00', 'peer'],
    ['peer=', 'peer'],
    ['person=', 'person'],
    [`peer=${'1'.repeat(65)}`, 'peer'],
    ['connectionId=a%00b', 'connectionId'],
    ['connection=c1', 'connection'],
  ])('refuse the query %s and name the parameter', async (query, field) => {
    const answer = refusal(await get(`/v1/messages?${query}`));
    expect(answer).toMatchObject({ status: 400, error: 'invalid_request' });
    expect(answer.message).toMatch(new RegExp(`^${field}: .+\\.$`));
  });

  it('refuse a cursor of another list', async () => {
    const { body } = await get('/v1/connections?limit=1');
    const cursor = String(body['nextCursor']);
    expect((await get(`/v1/connections?limit=1&cursor=${cursor}`)).status).toBe(200);
    expect(refusal(await get(`/v1/messages?cursor=${cursor}`))).toMatchObject({ status: 400 });
  });
});

describe('connections', () => {
  it('are listed in pages, with health and last contact', async () => {
    const first = connectorConnectionList.parse((await get('/v1/connections?limit=1')).body);
    expect(first.connections).toMatchObject([
      {
        id: 'c1',
        label: 'Front desk',
        status: 'open',
        health: 'working',
        needsReconnect: false,
        visible: true,
      },
    ]);
    expect(first.connections[0]?.lastContactAt).toBe(polledAt);
    const second = connectorConnectionList.parse(
      (await get(`/v1/connections?cursor=${first.nextCursor}`)).body,
    );
    expect(second).toMatchObject({ connections: [{ id: 'c2', health: 'needs_reconnect' }], hasMore: false });
  });

  it('are found by health, for which the first reason that applies counts', async () => {
    onTestFinished(async () => {
      await world.database.query("delete from connector.connections where account_id = 'judged'");
    });
    await world.database.query(
      `insert into connector.connections (account_id, updated_at, connection_id, deleted_at, visible, license_valid,
         status, needs_reconnect)
       select 'judged', 0, * from (values
         ('deleted', 1, false, false, 'connecting', true),
         ('hidden', null, false, false, 'connecting', true),
         ('unlicensed', null, true, false, 'connecting', true),
         ('connecting', null, true, true, 'connecting', true),
         ('needs_reconnect', null, true, null, 'open', true),
         ('working', null, true, null, 'connected', null),
         ('disconnected', null, true, true, 'disconnected', false),
         ('unknown', null, true, true, 'paused', false),
         ('no status', null, true, true, null, null)) as v`,
    );
    const found = async (query: string): Promise<string[]> => {
      const { body } = await get(`/v1/connections?accountId=judged${query}`);
      return connectorConnectionList.parse(body).connections.map(({ id, health }) => `${id}: ${health}`);
    };
    expect(await found('')).toEqual([
      'connecting: connecting',
      'disconnected: disconnected',
      'hidden: hidden',
      'needs_reconnect: needs_reconnect',
      'no status: unknown',
      'unknown: unknown',
      'unlicensed: unlicensed',
      'working: working',
    ]);
    expect(await found('&health=unknown')).toEqual(['no status: unknown', 'unknown: unknown']);
    expect(await found('&health=unlicensed')).toEqual(['unlicensed: unlicensed']);
    expect(await found('&health=deleted')).toEqual(['deleted: deleted']);
    expect((await get('/v1/connections?health=open')).status).toBe(400);
  });

  it('have a customer, which is shown in messages and in the feed', async () => {
    proves('service.id.customer-map');
    onTestFinished(async () => {
      await running.ask('PUT', '/v1/connections/c1/customer', { body: { customerRef: null } });
    });
    const answer = await running.ask('PUT', '/v1/connections/c1/customer', {
      body: { customerRef: 'crm-7' },
    });
    expect(connectorConnection.strict().parse(answer.body)).toMatchObject({ id: 'c1', customerRef: 'crm-7' });
    await running.ask('PUT', '/v1/connections/c1/customer', { body: { customerRef: 'crm-7' } });
    expect((await get('/v1/connections/c1')).body).toMatchObject({ customerRef: 'crm-7' });
    const { body } = await get('/v1/messages?connectionId=c1&limit=1');
    expect(body).toMatchObject({ messages: [{ customerRef: 'crm-7' }] });
    await running.connector.settle();
    const changes = (await get('/v1/changes?connectionId=c1&limit=1000')).body['changes'] as {
      data: object;
    }[];
    const mapped = changes.filter(({ data }) => 'customerRef' in data && data.customerRef === 'crm-7');
    expect(mapped).toHaveLength(1);
  });

  it('keep their customer when they are polled, and lose it on request', async () => {
    await running.ask('PUT', '/v1/connections/c2/customer', { body: { customerRef: 'crm-8' } });
    await running.ask('POST', '/v1/sync');
    expect((await get('/v1/connections/c2')).body).toMatchObject({ customerRef: 'crm-8' });
    await running.ask('PUT', '/v1/connections/c2/customer', { body: { customerRef: null } });
    expect((await get('/v1/connections/c2')).body).toMatchObject({ customerRef: null });
  });

  it.each([
    ['an empty reference', { customerRef: '' }, 'customerRef'],
    ['a number', { customerRef: 7 }, 'customerRef'],
    ['NUL', { customerRef: 'a\u0000' }, 'customerRef'],
    ['a lone surrogate', { customerRef: '\ud800' }, 'customerRef'],
    ['nothing', {}, 'customerRef'],
    ['a field too many', { customerRef: 'a', customer: 'b' }, 'customer'],
    ['a list', [], 'body'],
  ])('refuse %s as a customer', async (_what, body, field) => {
    const answer = refusal(await running.ask('PUT', '/v1/connections/c1/customer', { body }));
    expect(answer).toMatchObject({ status: 400, error: 'invalid_request' });
    expect(answer.message.startsWith(`${field}: `)).toBe(true);
  });

  it.each([
    ['no JSON', '{"customerRef":', 400],
    ['nothing at all', '', 400],
    ['a bare text', '"crm"', 400],
    ['64 KiB and more', JSON.stringify({ customerRef: 'x'.repeat(66_000) }), 413],
  ])('refuse %s as a body', async (_what, raw, status) => {
    expect(refusal(await running.ask('PUT', '/v1/connections/c1/customer', { raw })).status).toBe(status);
  });
});

describe('accounts', () => {
  it('are listed without their credential', async () => {
    const { body } = await get('/v1/accounts');
    expect(connectorAccountList.parse(body).accounts).toMatchObject([
      {
        id: 'default',
        kind: 'api_key',
        baseUrl: world.service.baseUrl,
        state: 'active',
        webhookPath: '/webhooks/messaging',
        webhookUrl: WEBHOOK_URL,
      },
    ]);
    expect(JSON.stringify(body)).not.toContain('key-1');
  });
});

describe('sync', () => {
  it('shows the progress of each account and connection', async () => {
    const { status, body } = await get('/v1/sync');
    expect(status).toBe(200);
    const [account] = syncStatus.parse(body).accounts;
    expect(account).toMatchObject({
      accountId: 'default',
      coveredUntil: polledAt,
      openGaps: 0,
      lastPoll: { ok: true, error: null, notBefore: null },
      statusConflicts: 0,
    });
    expect(account?.connections.map(({ connectionId }) => connectionId)).toEqual(['c1', 'c2']);
    const open = world.service.messages.filter((each) => each.direction === 'outgoing');
    const oldest = Math.min(...open.map((each) => each.createdAt));
    expect(account?.oldestOpenStatus?.createdAt).toBe(new Date(oldest).toISOString());
  });

  it('polls with and without a body, and returns the state afterwards', async () => {
    for (const options of [{}, { body: {} }, { body: { accountId: 'default' } }]) {
      const answer = await running.ask('POST', '/v1/sync', options);
      expect(answer.status).toBe(200);
      const { accounts, failed } = syncResult.parse(answer.body);
      expect(accounts).toHaveLength(1);
      expect(failed).toEqual([]);
    }
  });

  it('returns 404 for any other account', async () => {
    expect(refusal(await get('/v1/sync?accountId=other')).status).toBe(404);
    expect(refusal(await running.ask('POST', '/v1/sync', { body: { accountId: 'other' } })).status).toBe(404);
    expect(refusal(await running.ask('POST', '/v1/sync', { body: { account: 'default' } })).status).toBe(400);
  });

  it('reports what the service answered if it cannot poll', async () => {
    const { service } = world;
    service.fault = () => ({ status: 403, body: { error: 'insufficient_scope' } });
    const refused = refusal(await running.ask('POST', '/v1/sync'));
    expect(refused).toMatchObject({ status: 502, error: 'service_refused' });
    expect(refused.message).toContain('insufficient_scope');
    service.fault = () => ({
      status: 429,
      body: { error: 'rate_limited' },
      headers: { 'retry-after': '90' },
    });
    const limited = await running.ask('POST', '/v1/sync');
    expect(refusal(limited)).toMatchObject({ status: 429, error: 'rate_limited' });
    expect(limited.headers.get('retry-after')).toBe('90');
    expect((await get('/v1/sync')).body).toMatchObject({
      accounts: [{ lastPoll: { ok: false, error: 'rate_limited' } }],
    });
    service.fault = () => undefined;
    await world.clock.advance(91_000);
    expect((await running.ask('POST', '/v1/sync')).status).toBe(200);
  });
});

describe('addresses', () => {
  it('that do not exist are answered with 404', async () => {
    for (const path of ['/v1/nowhere', '/v1/messages/none', '/v1/connections/none', '/v1', '/']) {
      expect(refusal(await get(path))).toMatchObject({ status: 404, error: 'not_found' });
    }
    for (const path of ['/v1/messages/%00', '/v1/messages/%ff', `/v1/messages/${'x'.repeat(300)}`]) {
      expect([400, 404]).toContain(refusal(await get(path)).status);
    }
  });

  it('that exist only for an OAuth app are answered with 404 as well', async () => {
    expect(refusal(await running.ask('GET', '/oauth/callback')).status).toBe(404);
    expect(refusal(await running.ask('POST', '/v1/accounts/oauth'))).toMatchObject({
      status: 409,
      error: 'oauth_not_configured',
    });
  });

  it.each([
    ['DELETE', '/v1/messages', 'GET, HEAD, POST'],
    ['POST', '/v1/messages/m1', 'GET, HEAD'],
    ['DELETE', '/v1/sync', 'GET, HEAD, POST'],
    ['GET', '/v1/connections/c1/customer', 'PUT'],
    ['POST', '/v1/changes', 'GET, HEAD'],
    ['POST', '/v1/openapi.json', 'GET, HEAD'],
    ['POST', '/healthz', 'GET, HEAD'],
    ['POST', '/docs', 'GET, HEAD'],
  ])('refuse other methods: %s %s', async (method, path, allow) => {
    const answer = await running.ask(method, path);
    expect(refusal(answer)).toMatchObject({ status: 405, error: 'method_not_allowed' });
    expect(answer.headers.get('allow')).toBe(allow);
  });
});

describe('the document', () => {
  it('and its page need no token, even a wrong one does not matter', async () => {
    for (const token of [null, 'wrong']) {
      expect((await running.ask('GET', '/v1/openapi.json', { token })).status).toBe(200);
      expect((await fetch(`${running.url}/docs`)).status).toBe(200);
    }
  });
});

describe('what the connector says of itself', () => {
  it('is what the doctor finds without its command, causes before their effects', async () => {
    const { status, body } = await get('/v1/doctor');
    expect(status).toBe(200);
    const { findings } = findingList.parse(body);
    const checks = [...new Set(findings.map(({ check }) => check))];
    expect(checks).toEqual([
      'connections',
      'snapshots',
      'signatures',
      'polls',
      'reading',
      'missed-events',
      'numbers',
      'processes',
      'answers',
      'feed',
      'sends',
      'handler',
      'files',
    ]);
    expect(findings.filter(({ says }) => says.startsWith('The check failed'))).toEqual([]);
  });

  it('is what it counted and answered lately', async () => {
    expect((await get('/v1/statistics?range=day')).body).toMatchObject({ stepSeconds: 900 });
    expect((await get('/v1/statistics?range=week')).status).toBe(400);
    expect((await get('/v1/deliveries?result=refused&limit=1')).status).toBe(200);
  });
});

describe('probes', () => {
  it('report that something is unavailable, but not what', async () => {
    expect(healthAnswer.strict().parse((await get('/readyz')).body)).toEqual({ ok: true });
    const ping = vi.spyOn(world.database, 'ping').mockRejectedValue(new Error('away'));
    await world.clock.advance(1_000);
    const answer = await get('/readyz');
    ping.mockRestore();
    await world.clock.advance(1_000);
    expect(answer).toMatchObject({ status: 503, body: { ok: false } });
    expect(Object.keys(answer.body)).toEqual(['ok']);
    expect((await get('/healthz')).body).toEqual({ ok: true });
  });

  it('report a process as ready that can store deliveries, whatever its other work waits for', async () => {
    const receiverDatabase = world.openDatabase();
    const web = await world.start({ database: world.database, receiverDatabase, role: 'web' });
    const ping = vi.spyOn(world.database, 'ping').mockRejectedValue(new Error('all connections are in use'));
    expect((await web.ask('GET', '/readyz')).status).toBe(200);
    ping.mockRestore();
    await web.stop();
    await receiverDatabase.close();
  });

  it('report the metrics of polling', async () => {
    await running.ask('POST', '/v1/sync');
    const { headers, body } = await get('/metrics');
    expect(headers.get('content-type')).toContain('text/plain');
    for (const name of [
      'connector_poll_seconds_bucket',
      'connector_poll_pages_total',
      'connector_poll_merged_total{what="created"} 25',
      'connector_coverage_lag_seconds{account="default"} 0',
      'connector_open_statuses{account="default"}',
      'connector_poll_back_off_seconds{account="default"}',
    ]) {
      expect(body['text']).toContain(name);
    }
  });
});

describe('an unavailable database', () => {
  it('is reported as 503 with Retry-After, and calls succeed once it is back', async () => {
    const { hostname, port } = new URL(world.databaseUrl);
    const proxy = await startFaultProxy({ host: hostname, port: Number(port) });
    const url = proxy.route(world.databaseUrl);
    const database = openPool(url);
    const lost = await world.start({ database, role: 'web' });
    try {
      await proxy.refuse();
      proxy.cut();
      const answer = await lost.ask('GET', '/v1/messages');
      expect(refusal(answer)).toMatchObject({ status: 503, error: 'unavailable' });
      expect(answer.headers.get('retry-after')).toBe('1');
      expect((await lost.ask('GET', '/readyz')).status).toBe(503);
      expect((await lost.ask('GET', '/healthz')).status).toBe(200);
      await proxy.accept();
      expect((await lost.ask('GET', '/v1/messages')).status).toBe(200);
    } finally {
      await lost.stop();
      await database.close();
      await proxy.close();
    }
  });
});
