import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openCredential, readAccount } from '../../../src/connector/accounts/account-store.ts';
import type { ConnectorOptions } from '../../../src/connector/connector.ts';
import { ConfigurationError } from '../../../src/runtime/config/configuration-error.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { createKeyRing } from '../../../src/runtime/sealing/key-ring.ts';
import { ConnectorWorld, type RunningConnector } from '../support/running-connector.ts';
import { ScriptedService } from '../support/scripted-service.ts';

const TYPO = 'msk_typo-of-a-key';
let world: ConnectorWorld;
let running: RunningConnector;

async function open(): Promise<void> {
  world = await ConnectorWorld.open();
  world.service.apiKeys.add('key-2');
  world.service.addConnection('c1');
  running = await world.start();
  await running.runPolls();
}

const named = (apiKey: string, baseUrl = world.service.baseUrl) => ({ service: { baseUrl, apiKey } });
const stored = async () => ({
  key: await openCredential(world.database, createKeyRing([world.sealingKey]), 'default'),
  baseUrl: (await readAccount(world.database, 'default'))?.baseUrl,
  version: (await readAccount(world.database, 'default'))?.credentialVersion,
});
const isReady = async (connector: RunningConnector) => {
  // However often it is asked, it is looked up once a second.
  await world.clock.advance(1_000);
  const { status, body } = await connector.ask('GET', '/readyz', { token: null });
  expect(body).toEqual({ ok: status === 200 });
  return status === 200;
};
const problemsOf = async (options: Partial<ConnectorOptions>) => {
  const error = await world.start(options).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ConfigurationError);
  const { problems, message } = error as ConfigurationError;
  expect(message).not.toContain(TYPO);
  return problems.map(({ setting, problem }) => `${setting}: ${problem}`).join('\n');
};
const keysSeen = () => new Set(world.service.requests.map(({ headers }) => headers.authorization));
/** The other processes see that a value was named, or is named no longer. */
const minutesPass = async (ms = 60_000) => {
  for (let passed = 0; passed < ms; passed += 10_000) {
    await world.clock.advance(10_000);
    await running.connector.settle();
  }
};
/** A log whose lines can be read. */
function openLog() {
  let text = '';
  const write = (line: string): void => {
    text += line;
  };
  return { logger: createLogger({ level: 'info', name: 'test', destination: { write } }), text: () => text };
}

describe('the first settings of a database', () => {
  it('that the service refuses are told from a change: there is no stored value', async () => {
    world = await ConnectorWorld.open();
    try {
      expect(await problemsOf(named(TYPO))).toMatch(
        /^SERVICE_API_KEY: is refused .* No value is stored yet\.$/,
      );
      const log = openLog();
      world.service.fault = () => ({ status: 503, body: '' });
      await (await world.start({ logger: log.logger })).stop();
      expect(log.text()).toMatch(/is not used until the service at .* retrying\. No value is stored yet\./);
      expect(log.text()).not.toContain('remains in use');
    } finally {
      await world.close();
    }
  });
});

describe('settings that replace nothing', () => {
  const started: RunningConnector[] = [];
  const start = async (options: Partial<ConnectorOptions> = {}): Promise<RunningConnector> => {
    const connector = await world.start(options);
    started.push(connector);
    return connector;
  };
  beforeAll(open);
  afterAll(() => world.close());
  afterEach(async () => {
    for (const connector of started.splice(0)) await connector.stop();
    world.service.fault = () => undefined;
    world.service.requests = [];
  });

  describe('a changed API key', () => {
    it('that the service refuses prevents the process from starting, and the stored one stays', async () => {
      const before = await stored();
      expect(await problemsOf(named(TYPO))).toMatch(
        /^SERVICE_API_KEY: is refused by 127\.0\.0\.1:\d+ \(401 invalid_key\): it is mistyped.* The stored value remains in use\.$/,
      );
      expect(await problemsOf({ ...named(TYPO), role: 'web' })).toContain('SERVICE_API_KEY');
      expect(await stored()).toEqual(before);
      const answer = await running.ask('POST', '/v1/sync', { body: {} });
      expect(answer.status).toBe(200);
      expect(await isReady(running)).toBe(true);
      // One attempt each, by the one call.
      const tried = world.service.requests.filter(
        ({ headers }) => headers.authorization === `Bearer ${TYPO}`,
      );
      expect(tried.map(({ method, path }) => `${method} ${path}`)).toEqual([
        'GET /connections',
        'GET /connections',
      ]);
    });

    it.each([
      ['ip_not_allowed', /SERVICE_API_KEY: .*\(403 ip_not_allowed\).*allowlist/],
      ['insufficient_scope', /SERVICE_API_KEY: .*\(403 insufficient_scope\).*messaging\.read/],
      ['something_new', /SERVICE_API_KEY: .*\(403 something_new\)/],
    ])('that is answered 403 %s replaces nothing', async (error, says) => {
      const before = await stored();
      world.service.fault = ({ headers }) =>
        headers.authorization === 'Bearer key-2' ? { status: 403, body: { error } } : undefined;
      expect(await problemsOf(named('key-2'))).toMatch(says);
      expect(await stored()).toEqual(before);
    });

    it('of another workspace replaces nothing', async () => {
      const other = await ScriptedService.start();
      other.addConnection('of-others');
      try {
        const said = await problemsOf(named('key-1', other.baseUrl));
        expect(said).toContain('SERVICE_API_KEY: is a key of a different workspace');
        expect(await stored()).toMatchObject({ key: 'key-1', baseUrl: world.service.baseUrl });
      } finally {
        await other.close();
      }
    });

    it('that the service refuses after an outage ends the wait', async () => {
      world.service.fault = ({ headers }) =>
        headers.authorization === `Bearer ${TYPO}` ? 'reset' : undefined;
      const waiting = await start(named(TYPO));
      const end = expect(waiting.connector.untilReady()).rejects.toBeInstanceOf(ConfigurationError);
      world.service.fault = () => undefined;
      await world.clock.advance(2_000);
      await end;
      expect(await isReady(waiting)).toBe(false);
      const asked = world.service.requests.length;
      await world.clock.advance(120_000);
      expect(world.service.requests.slice(asked).map(({ headers }) => headers.authorization)).not.toContain(
        `Bearer ${TYPO}`,
      );
    });
  });

  describe('a changed base address', () => {
    it.each([
      ['404', { status: 404, body: { error: 'not_found' } }],
      ['302', { status: 302, body: '', headers: { location: 'https://elsewhere.example/' } }],
      ['200', { status: 200, body: '<html>Welcome</html>' }],
      ['200', { status: 200, body: { hello: 'world' } }],
    ])(
      'that is answered with %s is not the address of a service and replaces nothing',
      async (_status, answer) => {
        const before = await stored();
        const elsewhere = await ScriptedService.start();
        elsewhere.fault = () => answer;
        try {
          expect(await problemsOf(named('key-1', elsewhere.baseUrl))).toMatch(
            /^SERVICE_BASE_URL: is not the address of a service: .*, including \/api\/v1/,
          );
          expect(await stored()).toEqual(before);
        } finally {
          await elsewhere.close();
        }
      },
    );

    it('at which nothing listens is waited for, and the other accounts continue', async () => {
      const waiting = await start(named('key-1', 'http://127.0.0.1:1/api/v1'));
      expect(await isReady(waiting)).toBe(false);
      expect(await stored()).toMatchObject({ baseUrl: world.service.baseUrl, version: 2 });
      expect((await running.ask('POST', '/v1/sync', { body: {} })).status).toBe(200);
    });
  });

  describe('the stored credential', () => {
    it('does not need the service when a process starts', async () => {
      world.service.fault = () => 'reset';
      const next = await start();
      expect(await isReady(next)).toBe(true);
    });
  });
});

describe('settings that replace others', () => {
  beforeEach(open);
  afterEach(() => world.close());

  describe('a changed API key', () => {
    it('that the service accepts replaces the stored one in every process', async () => {
      const next = await world.start(named('key-2'));
      expect(await stored()).toMatchObject({ key: 'key-2', version: 3 });
      expect(await isReady(next)).toBe(true);
      world.service.apiKeys.delete('key-1');
      await minutesPass(20_000);
      // While it polls, another process waits for its turn.
      await next.connector.settle();
      expect((await running.ask('POST', '/v1/sync', { body: {} })).status).toBe(200);
    });

    it.each([
      ['0', 1_000],
      ['120', 120_000],
    ])(
      'is tried again when the service asks for it, not sooner: Retry-After %s',
      async (seconds, delayMs) => {
        const log = openLog();
        world.service.fault = ({ headers }) =>
          headers.authorization === 'Bearer key-2'
            ? { status: 429, body: { error: 'rate_limited' }, headers: { 'retry-after': seconds } }
            : undefined;
        const waiting = await world.start({ ...named('key-2'), logger: log.logger });
        expect(log.text()).toContain(`"delayMs":${delayMs},`);
        world.service.requests = [];
        await world.clock.advance(delayMs - 1);
        expect(keysSeen()).not.toContain('Bearer key-2');
        await waiting.stop();
      },
    );

    it('waits while the service fails, is not used in the meantime, and takes effect when the service works again', async () => {
      const log = openLog();
      world.service.fault = ({ headers }) =>
        headers.authorization === 'Bearer key-2' ? { status: 503, body: { error: 'down' } } : undefined;
      const waiting = await world.start({ ...named('key-2'), logger: log.logger });
      expect(await isReady(waiting)).toBe(false);
      expect(await stored()).toMatchObject({ key: 'key-1', version: 2 });
      expect(log.text()).toMatch(
        /SERVICE_BASE_URL or SERVICE_API_KEY is not used until .*answers with 503 down; retrying\. The stored value remains in use\./,
      );
      await waiting.poll();
      expect((await waiting.ask('POST', '/v1/connections/c1/restart')).status).toBe(400);
      expect(keysSeen()).toEqual(new Set(['Bearer key-1', 'Bearer key-2']));
      const calls = world.service.requests.filter(({ headers }) => headers.authorization === 'Bearer key-2');
      expect(new Set(calls.map(({ path }) => path))).toEqual(new Set(['/connections']));
      // Webhooks are taken: their secret is the stored one.
      const event = {
        event: 'message.status',
        connection_id: 'c1',
        message: { id: 'm1', wa_id: null, status: 'sent', timestamp: world.clock.now() },
      };
      expect((await waiting.deliver(event, world.secret)).status).toBe(200);

      world.service.fault = () => undefined;
      await world.clock.advance(2_000);
      expect(await waiting.connector.untilReady()).toBe(true);
      expect(await isReady(waiting)).toBe(true);
      expect(await stored()).toMatchObject({ key: 'key-2', version: 3 });
    });
  });

  describe('the stored credential', () => {
    it('that the service refuses does not prevent a process from receiving webhooks, and is used if it is accepted at the next start', async () => {
      const states = async () => {
        const { accounts } = (await running.ask('GET', '/v1/accounts')).body;
        return (accounts as { state: string }[]).map(({ state }) => state);
      };
      world.service.apiKeys.clear();
      await running.poll();
      expect(await isReady(await world.start())).toBe(true);
      expect(await states()).toEqual(['credential_refused']);
      world.service.apiKeys.add('key-1');
      await world.start();
      expect(await states()).toEqual(['active']);
    });
  });

  describe('processes with the old and the new key of a roll-out', () => {
    it('all use the key that was accepted last, also one that another process has accepted meanwhile', async () => {
      const newer = await world.start(named('key-2'));
      expect(await stored()).toMatchObject({ key: 'key-2', version: 3 });
      const tries = () => world.service.requests.filter(({ path }) => path === '/connections').length;
      const before = tries();
      const second = await world.start(named('key-2'));
      expect(tries()).toBe(before);
      // A process that starts with the old key, which is still valid, applies it again.
      const old = await world.start();
      expect(await stored()).toMatchObject({ key: 'key-1', version: 4 });
      world.service.apiKeys.delete('key-2');
      await minutesPass(20_000);
      for (const each of [running, newer, second, old]) {
        await each.connector.settle();
        expect(await isReady(each)).toBe(true);
        expect((await each.ask('POST', '/v1/sync', { body: {} })).status).toBe(200);
      }
    });

    it('that waits continues once another process has stored the same key, although the service is away', async () => {
      world.service.fault = ({ headers }) => (headers.authorization === 'Bearer key-2' ? 'reset' : undefined);
      const waiting = await world.start(named('key-2'));
      world.service.fault = () => undefined;
      await world.start(named('key-2'));
      world.service.fault = () => 'reset';
      await world.clock.advance(2_000);
      expect(await waiting.connector.untilReady()).toBe(true);
      expect(await stored()).toMatchObject({ key: 'key-2', version: 3 });
    });
  });
});

describe('a first registration', () => {
  beforeEach(async () => {
    world = await ConnectorWorld.open();
  });
  afterEach(() => world.close());

  it('is complete before a process is ready', async () => {
    world.service.fault = ({ path }) => (path === '/webhook' ? { status: 503, body: {} } : undefined);
    const first = await world.start();
    expect(await isReady(first)).toBe(false);
    world.service.fault = () => undefined;
    await expect
      .poll(async () => {
        await world.clock.advance(5_000);
        return await isReady(first);
      })
      .toBe(true);
    // Ready from the first moment on, although the service is away.
    world.service.fault = () => 'reset';
    expect(await isReady(await world.start())).toBe(true);
  });

  it('is not waited for if nothing is registered', async () => {
    const polling = await world.start({ webhookPublicUrl: undefined as unknown as string });
    expect(await isReady(polling)).toBe(true);
  });
});
