import { createHash } from 'node:crypto';
import { createServer } from 'node:net';
import postgres from 'postgres';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Loop, type LoopOptions, startLoop } from '../../src/commands/loop.ts';
import { portsFrom } from '../../src/commands/ports.ts';
import { runService } from '../../src/commands/run-service.ts';
import { howToStartAnother } from '../../src/commands/server-database.ts';
import { sandboxEvent } from '../../src/contract/sandbox/calls.ts';
import { Secret } from '../../src/runtime/config/secret.ts';
import { loopOptions } from '../../src/testing/loop-options.ts';
import { Browser } from '../support/browser.ts';
import { asAdmin, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { readEvents } from '../support/event-reader.ts';
import { findFreePort, findPortBase } from '../support/find-free-port.ts';
import { startTestLoop } from '../support/loop.ts';
import { callJson, createLoopClient } from '../support/loop-client.ts';
import { loopOfFile } from '../support/loop-of-file.ts';
import { runTestConnector } from '../support/run-test-connector.ts';
import { serve } from '../support/serve.ts';

describe('the loop', () => {
  const test = loopOfFile();

  it('streams events, and ends the stream cleanly when it closes', async () => {
    const { client, loop, close } = await startTestLoop();
    const url = `${loop.info().sandboxUrl}/sandbox/v1/events`;
    const reader = await readEvents(url, (data) => sandboxEvent.parse(data));
    const messageId = await client.write(await client.qrConnection(), 'Hello');
    await reader.find((event) => event.type === 'ledger' && event.entry.messageId === messageId);
    await reader.find((event) => event.type === 'delivery' && event.entry.outcome === 'delivered');
    await loop.close();
    await reader.ended;
    expect(reader.answer.complete).toBe(true);
    await close();
  });

  it('ends each JSON answer with a line break, so that answers in a terminal are on separate lines', async () => {
    const { baseUrl, authUrl, sandboxUrl, connectorUrl } = test.loop.info();
    for (const url of [
      `${baseUrl}/connections`,
      `${authUrl}/.well-known/oauth-authorization-server`,
      `${sandboxUrl}/sandbox/v1/info`,
      `${sandboxUrl}/sandbox/v1/nowhere`,
      `${sandboxUrl}/connector/v1/connections`,
      `${connectorUrl}/healthz`,
      `${connectorUrl}/v1/connections`,
    ]) {
      expect(await (await fetch(url)).text(), url).toMatch(/^\{.*\}\n$/);
    }
  });

  it('refuses a second one on its data: it reports which process uses it, where, and how to start another', async () => {
    const ownData = howToStartAnother('start', new Secret(test.databaseUrl));
    const second = startLoop({ ...loopOptions(test.databaseUrl), ownData });
    await expect(second).rejects.toThrow(
      `A process is already running on this data: ${test.loop.info().sandboxUrl}/sandbox/v1/info returns its addresses`,
    );
    await expect(second).rejects.toThrow('PLATFORM_DATABASE_URL=postgres://… npm start -- --port-base 4200');
  });

  it('answers requests to its connector with 200 or 503 during a reset', async () => {
    const statuses = new Set<number>();
    let isReset = false;
    const resetting = test.sandbox('POST', '/reset', {}).finally(() => {
      isReset = true;
    });
    const headers = { authorization: `Bearer ${test.connectorToken}` };
    while (!isReset) statuses.add((await fetch(`${test.connectorUrl}/v1/messages`, { headers })).status);
    await resetting;
    expect(statuses).toEqual(new Set([200, 503]));
  });
});

describe('the self-check of the loop', () => {
  const timed = { webhookMs: expect.any(Number), repairMs: expect.any(Number) };

  it('uses the running service, invisibly to the connector next to it, and the same number until a reset, and leaves no database behind', async () => {
    const told: string[] = [];
    const test = await startTestLoop({ handlers: { onChange: async ({ type }) => void told.push(type) } });
    const { client, loop } = test;
    const { connectorUrl, connectorToken, sandboxUrl } = loop.info();
    const token = connectorToken ?? '';
    const before = await client.changes();

    expect(await loop.check()).toEqual(timed);
    await loop.settle();
    await client.sync();

    const meant = await callJson<{ entries: { connectionId: string }[] }>(
      `${sandboxUrl}/sandbox/v1/ledger?limit=100`,
    );
    // The message in, and each status of the answer that has been reached by now.
    expect(meant.entries.length).toBeGreaterThanOrEqual(2);
    expect(new Set(meant.entries.map(({ connectionId }) => connectionId)).size).toBe(1);
    const { connections } = await callJson<{ connections: { id: string }[] }>(
      `${connectorUrl}/v1/connections`,
      { token },
    );
    expect(connections).toHaveLength(4);
    expect(connections.map(({ id }) => id)).not.toContain(meant.entries[0]?.connectionId);
    const after = await client.changes();
    expect(after.slice(before.length).filter(({ type }) => type.startsWith('message.'))).toEqual([]);
    expect(await client.messages()).toEqual([]);
    expect(told.filter((type) => type.startsWith('message.'))).toEqual([]);
    const metrics = await fetch(`${connectorUrl}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    expect(await metrics.text()).not.toMatch(/^connector_\w*repaired\w*(?:\{[^}]*\})? [1-9]/m);
    const faults = await callJson(`${sandboxUrl}/sandbox/v1/faults`);
    expect(faults).toEqual({ seed: 1, rules: [] });

    const page = await consentPage(loop);
    expect(page).toContain('Front desk');
    expect(page).not.toContain('Self-check');

    const reached = async (): Promise<string[]> => {
      const { entries } = await test.sandbox<typeof meant>('GET', '/ledger?limit=100');
      return [...new Set(entries.map(({ connectionId }) => connectionId))];
    };
    expect(await loop.check()).toEqual(timed);
    const [first, ...more] = await reached();
    expect(more).toEqual([]);
    await test.sandbox('POST', '/reset', {});
    expect(await loop.check()).toEqual(timed);
    expect(await reached()).not.toContain(first);
    const hash = createHash('sha256').update(test.databaseUrl).digest('hex').slice(0, 12);
    const left = await asAdmin(
      (sql) => sql`select datname from pg_database where datname = ${`messaging_self_check_${hash}`}`,
    );
    expect([...left]).toEqual([]);
    await test.close();
  });

  /** The first page of an app whose user may speak for every workspace. */
  async function consentPage(loop: Loop): Promise<string> {
    const { sandboxUrl, authUrl } = loop.info();
    const redirect_uri = 'https://crm.example/callback';
    const { clientId } = await callJson<{ clientId: string }>(`${sandboxUrl}/sandbox/v1/oauth-apps`, {
      method: 'POST',
      body: { name: 'CRM', redirectUris: [redirect_uri], scopes: ['messaging.read'] },
    });
    const query = new URLSearchParams({
      client_id: clientId,
      redirect_uri,
      response_type: 'code',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
    });
    return await (await fetch(`${authUrl}/oauth/authorize?${query}`)).text();
  }
});

describe('the OAuth app of the loop', () => {
  /** A consent as a browser gives it, then a message by webhook alone. */
  async function consentAndReceive(loop: Loop): Promise<void> {
    const { connectorUrl, connectorToken } = loop.info();
    const token = connectorToken ?? '';
    const { authorizationUrl } = await callJson<{ authorizationUrl: string }>(
      `${connectorUrl}/v1/accounts/oauth`,
      { method: 'POST', token, body: {} },
    );
    const browser = new Browser();
    const page = await browser.follow(await browser.goOn(authorizationUrl));
    expect(page.text).toContain('<h1>Connected</h1>');
    await receive(loop);
  }

  async function receive(loop: Loop): Promise<void> {
    const { connectorUrl, connectorToken } = loop.info();
    const token = connectorToken ?? '';
    const client = createLoopClient(loop.info());
    const { accounts } = await callJson<{ accounts: { id: string; kind: string }[] }>(
      `${connectorUrl}/v1/accounts`,
      { token },
    );
    const accountId = accounts.find(({ kind }) => kind === 'oauth')?.id;
    await callJson(`${connectorUrl}/v1/sync`, { method: 'POST', token, body: { accountId } });
    const { connections } = await callJson<{ connections: { id: string; accountId: string }[] }>(
      `${connectorUrl}/v1/connections`,
      { token },
    );
    const connection = connections.find((each) => each.accountId === accountId);
    await client.failPolls();
    const messageId = await client.write(connection?.id ?? '', 'To the bakery');
    await loop.settle();
    expect((await client.messages()).find(({ id }) => id === messageId)).toMatchObject({
      firstSeenBy: 'webhook',
    });
    await client.clearFaults();
  }

  it('receives its events by webhook, also after a restart and after a reset', async () => {
    const database = await createTestDatabase({ connector: true, platform: true });
    const options = loopOptions(database.url, { ports: portsFrom(await findPortBase()) });
    const first = await startLoop(options);
    await consentAndReceive(first);
    await first.close();
    const second = await startLoop(options);
    await receive(second);
    await callJson(`${second.info().sandboxUrl}/sandbox/v1/reset`, { method: 'POST', body: {} });
    await consentAndReceive(second);
    await second.close();
    await database.drop();
  });
});

describe('a connector that restarts', () => {
  it('answers 503 with Retry-After meanwhile, and serves again if the work fails', async () => {
    const connector = await runTestConnector();
    const probe = async () => {
      const { status, headers } = await fetch(`${connector.url}/healthz`);
      return [status, headers.get('retry-after')];
    };
    let meanwhile: unknown;
    const failed = connector.restart(async () => {
      meanwhile = await probe();
      throw new Error('the snapshot is broken');
    });
    await expect(failed).rejects.toThrow('the snapshot is broken');
    expect([meanwhile, await probe()]).toEqual([
      [503, '1'],
      [200, null],
    ]);
    await connector.close();
  });

  it('reports why the work failed, not that it could not start again', async () => {
    const connector = await runTestConnector();
    const failed = connector.restart(async () => {
      const sql = postgres(connector.databaseUrl, { max: 1, onnotice: () => undefined });
      await sql`DROP SCHEMA connector CASCADE`;
      await sql.end();
      throw new Error('the disk is full');
    });
    await expect(failed).rejects.toThrow('the disk is full');
    await connector.close();
  });
});

describe('a service that was reset while its connector was stopped', () => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await createTestDatabase({ connector: true, platform: true });
  });

  afterEach(() => database.drop());

  /** Runs a loop that stores a message, then resets its service as `npm run platform` would. */
  async function resetAlone(options: LoopOptions): Promise<void> {
    const loop = await startLoop(options);
    // The data belongs to the loop after a reset of its own as well.
    await callJson(`${loop.info().sandboxUrl}/sandbox/v1/reset`, { method: 'POST' });
    const client = createLoopClient(loop.info());
    await client.write(await client.qrConnection(), 'Before the reset');
    await client.sync();
    await loop.close();
    const service = await runService({ ...options, databaseUrl: database.url });
    await service.sandbox.reset();
    await service.close();
  }

  async function query(statement: string): Promise<readonly object[]> {
    const sql = postgres(database.url, { max: 1 });
    return await sql.unsafe(statement).finally(() => sql.end());
  }

  it('gets an empty connector, if the data belongs to the loop', async () => {
    const options = loopOptions(database.url, { ownsConnectorData: true });
    await resetAlone(options);
    const loop = await startLoop(options);
    const client = createLoopClient(loop.info());
    expect(loop.emptied).toBe(true);
    expect(await client.messages()).toEqual([]);
    const messageId = await client.write(await client.qrConnection(), 'After the reset');
    expect(await client.arrival(messageId)).toMatchObject({ text: 'After the reset' });
    await loop.close();

    const again = await startLoop(options);
    expect(again.emptied).toBe(false);
    expect(await createLoopClient(again.info()).messages()).toMatchObject([{ id: messageId }]);
    await again.close();
  });

  it('leaves a database of the user, and the data of a connector that did not belong to the loop, unchanged, and explains what to do', async () => {
    const options = loopOptions(database.url);
    await resetAlone(options);
    const ownData = 'npm start -- --data-dir .data-2';
    await expect(startLoop({ ...options, ownData })).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: expect.stringMatching(/DATABASE_URL: contains messages of another service.*\.data-2/s),
    });
    expect(await query('SELECT text FROM connector.messages')).toEqual([{ text: 'Before the reset' }]);

    // Nor may a loop remove what a connector has stored that did not belong to it.
    await query(`UPDATE connector.feed SET id = '0123456789ab'`);
    await expect(startLoop({ ...options, ownsConnectorData: true })).rejects.toThrow(
      '--data-dir: contains messages of another service',
    );
    expect(await query('SELECT text FROM connector.messages')).toEqual([{ text: 'Before the reset' }]);
  });
});

describe('a loop that cannot start', () => {
  it.each([
    ['service', 'platform'],
    ['connector', 'connector'],
  ])(
    'because the port of the %s is in use names it and the option to change, and closes everything that it has opened, so that the next start succeeds',
    async (_, name) => {
      const database = await createTestDatabase({ connector: true, platform: true });
      const { port, close } = await serve(createServer());
      const options = loopOptions(database.url);

      await expect(startLoop({ ...options, ports: { ...portsFrom(0), [name]: port } })).rejects.toThrow(
        `Cannot listen on 127.0.0.1 port ${port}: the port is in use. Stop the process that uses it, or set --port-base`,
      );

      const loop = await startLoop(options);
      await loop.close();
      await close();
      await database.drop();
    },
  );

  it('because a setting is wrong names this setting', async () => {
    const database = await createTestDatabase({ connector: true, platform: true });
    const options = loopOptions(database.url, { redisUrl: 'http://127.0.0.1' });
    await expect(startLoop(options)).rejects.toThrow('REDIS_URL: ');
    await database.drop();
  });

  it('because the database fails at the last step closes everything that it has opened', async () => {
    const database = await createTestDatabase({ connector: true, platform: true });
    const sql = postgres(database.url, { max: 1, onnotice: () => undefined });
    await sql.unsafe(`
      create function platform.refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
      create trigger refuse before insert on platform.sandbox_state
        for each row when (new.name = 'connector_data') execute function platform.refuse()`);
    const connector = await findFreePort();
    const options = { ...loopOptions(database.url), ports: { ...portsFrom(0), connector } };

    await expect(startLoop(options)).rejects.toThrow('refused');

    await expect(fetch(`http://127.0.0.1:${connector}/healthz`)).rejects.toThrow('fetch failed');
    const clients = await sql`
      select application_name from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`;
    expect([...clients]).toEqual([]);
    await sql.end();
    await database.drop();
  });
});
