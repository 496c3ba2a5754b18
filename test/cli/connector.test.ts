import { createHmac, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { findEmbeddedPostgres } from '../../src/runtime/database/embedded/find-running.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { makeDataFolder } from '../support/data-folder.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { callJson, type ShownMessage } from '../support/loop-client.ts';
import { type SpawnedCommand, spawnCli } from '../support/spawn-command.ts';

const SLOW_MS = 120_000;
const SECRETS = {
  CONNECTOR_API_TOKEN: randomBytes(24).toString('base64url'),
  CONNECTOR_SEALING_KEYS: generateSealingKey(),
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

it(
  'leaves no Postgres behind on a SIGTERM while it starts one',
  async () => {
    const folder = await makeDataFolder();
    const command = spawnCli('connector', ['--data-dir', folder.path], { CONNECTOR_PORT: '0', ...SECRETS });
    const server = async () => (await findEmbeddedPostgres(folder.path)).kind;
    await expect.poll(server, { timeout: SLOW_MS, interval: 5 }).toBe('running');
    command.signal('SIGTERM');
    expect((await command.ended).code).toBe(0);
    expect(await server()).toBe('stopped');
    await folder.remove();
  },
  SLOW_MS,
);

it('names everything that is missing and the setting that a variable resembles, starts nothing and exits with 2', async () => {
  const { code, stdout, stderr } = await spawnCli('connector', [], { CONECTOR_API_TOKEN: 'token' }).ended;
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('CONNECTOR_SEALING_KEYS: is not set');
  expect(stderr).toContain('CONNECTOR_API_TOKEN: is not set');
  expect(stderr).toContain('CONECTOR_API_TOKEN is not a setting. Did you mean CONNECTOR_API_TOKEN?');
});
