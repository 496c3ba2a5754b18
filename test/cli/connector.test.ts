import { createHmac, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connectorOptions } from '../../src/commands/connector-options.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { callJson, type ShownMessage } from '../support/loop-client.ts';
import { proves } from '../support/proves.ts';
import { type SpawnedCommand, spawnCli } from '../support/spawn-command.ts';

const SLOW_MS = 120_000;
const SECRETS = {
  CONNECTOR_API_TOKEN: randomBytes(24).toString('base64url'),
  CONNECTOR_SEALING_KEYS: generateSealingKey(),
};
const OAUTH_WITHOUT_SECRET = {
  ...SECRETS,
  SERVICE_BASE_URL: 'https://service.example/api/v1',
  SERVICE_AUTH_URL: 'http://127.0.0.1:4010',
  SERVICE_CLIENT_ID: 'client',
  CONNECTOR_PUBLIC_URL: 'https://crm.example',
};
const TOKEN = { token: SECRETS.CONNECTOR_API_TOKEN };

describe('npm run connector with only WEBHOOK_SECRET and a database', () => {
  const secret = 'registered-by-hand';
  let database: TestDatabase;
  let command: SpawnedCommand;
  let url: string;
  let isRunning = false;

  beforeAll(async () => {
    database = await createTestDatabase();
  });

  // Starts it for the first test, and after a test that has stopped it.
  beforeEach(async () => {
    if (isRunning) return;
    command = spawnCli('connector', ['--json'], {
      DATABASE_URL: database.url,
      CONNECTOR_PORT: '0',
      WEBHOOK_SECRET: secret,
      ...SECRETS,
    });
    const line = await command.said(/./);
    ({ connectorUrl: url } = JSON.parse(line) as { connectorUrl: string });
    isRunning = true;
  }, SLOW_MS);

  afterAll(async () => {
    await command.kill();
    await database.drop();
  });

  /** A delivery as the service would make it, signed here by hand. */
  function deliver(text: string, key = secret): Promise<Response> {
    const timestamp = String(systemClock.now());
    const body = JSON.stringify({
      event: 'message.received',
      connection_id: 'connection1',
      message: {
        id: 'message1',
        wa_id: null,
        from: '447700900201',
        text,
        media_url: null,
        media_type: null,
        timestamp: 1_767_225_600_000,
      },
    });
    const signature = createHmac('sha256', key).update(`${timestamp}.${body}`).digest('hex');
    return fetch(`${url}/webhooks/messaging`, {
      method: 'POST',
      headers: { 'X-Service-Timestamp': timestamp, 'X-Service-Signature': `sha256=${signature}` },
      body,
    });
  }

  it('stores a webhook and shows its message', async () => {
    const answer = await deliver('By hand');
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ ok: true });
    const { messages } = await callJson<{ messages: ShownMessage[] }>(`${url}/v1/messages`, TOKEN);
    expect(messages).toEqual([
      expect.objectContaining({ id: 'message1', text: 'By hand', firstSeenBy: 'webhook' }),
    ]);
  });

  it('refuses a signature made with another secret', async () => {
    expect((await deliver('Forged', 'another-secret')).status).toBe(401);
  });

  it('requires the token', async () => {
    await expect(callJson(`${url}/v1/messages`)).rejects.toThrow('answered 401');
    await expect(callJson(`${url}/v1/messages`, { token: 'wrong' })).rejects.toThrow('answered 401');
  });

  it('becomes ready, and exits with 0 on SIGTERM', async () => {
    await callJson(`${url}/readyz`);
    isRunning = false;
    command.signal('SIGTERM');
    const { code, stdout } = await command.ended;
    expect(code).toBe(0);
    expect(stdout).toBe(`${JSON.stringify({ connectorUrl: url })}\n`);
  });
});

describe('npm run connector with invalid settings', () => {
  it.each<[string, Record<string, string>, string]>([
    ['no keys', { CONNECTOR_API_TOKEN: 'token-of-a-test-0123456789' }, 'CONNECTOR_SEALING_KEYS'],
    [
      'a token of 23 characters',
      { ...SECRETS, CONNECTOR_API_TOKEN: 'abcdefghijklmnopqrstuvw' },
      'CONNECTOR_API_TOKEN: found only 23 characters',
    ],
    [
      'further tokens alone',
      { ...SECRETS, CONNECTOR_API_TOKEN: '', CONNECTOR_API_TOKENS: 'crm:read:abcdefghijklmnopqrstuvwx' },
      'CONNECTOR_API_TOKEN: is not set',
    ],
    [
      'one token in both settings',
      { ...SECRETS, CONNECTOR_API_TOKENS: `crm:read:${SECRETS.CONNECTOR_API_TOKEN}` },
      'CONNECTOR_API_TOKENS: contains the token of CONNECTOR_API_TOKEN',
    ],
    [
      'a webhook secret of one letter',
      { ...SECRETS, WEBHOOK_SECRET: 'b' },
      'WEBHOOK_SECRET: found only 1 char',
    ],
    ['a short key', { ...SECRETS, CONNECTOR_SEALING_KEYS: 'short' }, 'CONNECTOR_SEALING_KEYS'],
    ['a service without its key', { ...SECRETS, SERVICE_BASE_URL: 'http://127.0.0.1:1' }, 'SERVICE_API_KEY'],
    ['a key without its service', { ...SECRETS, SERVICE_API_KEY: 'key' }, 'SERVICE_BASE_URL'],
    [
      'an address that no service is told of',
      { ...SECRETS, WEBHOOK_PUBLIC_URL: 'https://crm.example/' },
      'WEBHOOK_PUBLIC_URL',
    ],
    [
      'an address without TLS',
      { ...SECRETS, WEBHOOK_PUBLIC_URL: 'http://crm.example/' },
      'WEBHOOK_PUBLIC_URL',
    ],
    ['an OAuth app without its secret', OAUTH_WITHOUT_SECRET, 'SERVICE_CLIENT_SECRET'],
    [
      'the webhook secret of an app that is not named',
      { ...SECRETS, SERVICE_CLIENT_WEBHOOK_SECRET: 'secret-of-16-and-more' },
      'SERVICE_CLIENT_WEBHOOK_SECRET: is the secret of an OAuth app',
    ],
    [
      'an OAuth app without its service',
      { ...SECRETS, CONNECTOR_PUBLIC_URL: 'https://crm.example' },
      'SERVICE_BASE_URL',
    ],
    [
      'an authorization server without TLS on another machine',
      {
        ...OAUTH_WITHOUT_SECRET,
        SERVICE_CLIENT_SECRET: 'secret',
        SERVICE_AUTH_URL: 'http://auth.example',
      },
      'SERVICE_AUTH_URL',
    ],
    ['an unknown role', { ...SECRETS, CONNECTOR_ROLE: 'both' }, 'CONNECTOR_ROLE'],
    ['a hasty poll', { ...SECRETS, RECONCILE_INTERVAL_MS: '1000' }, 'RECONCILE_INTERVAL_MS'],
  ])('refuses %s and names the setting', (_, env, named) => {
    expect(() => connectorOptions(env, () => undefined)).toThrow(named);
  });

  it('does not ask for an API key if the OAuth app is what is wrong', () => {
    const plain = {
      ...OAUTH_WITHOUT_SECRET,
      SERVICE_CLIENT_SECRET: 's',
      SERVICE_AUTH_URL: 'http://auth.example',
    };
    const read = () => connectorOptions(plain, () => undefined);
    expect(read).toThrow("SERVICE_AUTH_URL: found 'http://auth.example'");
    expect(read).not.toThrow('SERVICE_API_KEY');
  });

  it('accepts an OAuth app without an API key', () => {
    const whole = { ...OAUTH_WITHOUT_SECRET, SERVICE_CLIENT_SECRET: 'secret' };
    expect(connectorOptions(whole, () => undefined)).toMatchObject({
      service: undefined,
      oauth: {
        baseUrl: 'https://service.example/api/v1',
        authUrl: 'http://127.0.0.1:4010',
        clientId: 'client',
        clientSecret: 'secret',
        publicUrl: 'https://crm.example',
        webhookSecret: undefined,
      },
    });
    const heard = { ...whole, SERVICE_CLIENT_WEBHOOK_SECRET: 'signing-secret-of-an-app' };
    expect(connectorOptions(heard, () => undefined).oauth).toMatchObject({
      webhookSecret: 'signing-secret-of-an-app',
    });
  });

  it(
    'polls every 45 s by default, and at the configured interval of 30 to 60 s',
    proves('delivery.reconcile-period'),
    () => {
      const every = (ms?: string) => {
        const told = ms === undefined ? SECRETS : { ...SECRETS, RECONCILE_INTERVAL_MS: ms };
        return connectorOptions(told, () => undefined).reconcileIntervalMs;
      };
      expect([every(), every('30000'), every('60000')]).toEqual([45_000, 30_000, 60_000]);
      for (const ms of ['29999', '60001']) expect(() => every(ms)).toThrow('RECONCILE_INTERVAL_MS');
    },
  );

  it('names everything that is missing and the setting that a variable resembles, starts nothing and exits with 2', async () => {
    const { code, stdout, stderr } = await spawnCli('connector', [], { CONECTOR_API_TOKEN: 'token' }).ended;
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('CONNECTOR_SEALING_KEYS: is not set');
    expect(stderr).toContain('CONNECTOR_API_TOKEN: is not set');
    expect(stderr).toContain('CONECTOR_API_TOKEN is not a setting. Did you mean CONNECTOR_API_TOKEN?');
  });
});
