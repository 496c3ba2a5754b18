import { createHmac, randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { findEmbeddedPostgres } from '../../src/runtime/database/embedded/find-running.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { makeDataFolder } from '../support/data-folder.ts';
import { createTestDatabase } from '../support/database.ts';
import { callJson, type ShownMessage } from '../support/loop-client.ts';
import { spawnCli } from '../support/spawn-command.ts';

const SLOW_MS = 120_000;
const SECRETS = {
  CONNECTOR_API_TOKEN: randomBytes(24).toString('base64url'),
  CONNECTOR_SEALING_KEYS: generateSealingKey(),
};

it(
  'npm run connector with only WEBHOOK_SECRET and a database stores a webhook, and exits with 0 on SIGTERM',
  async () => {
    const database = await createTestDatabase();
    onTestFinished(() => database.drop());
    const command = spawnCli('connector', ['--json'], {
      DATABASE_URL: database.url,
      CONNECTOR_PORT: '0',
      WEBHOOK_SECRET: 'registered-by-hand',
      ...SECRETS,
    });
    onTestFinished(() => command.kill());
    const { connectorUrl: url } = JSON.parse(await command.said(/./)) as { connectorUrl: string };
    await callJson(`${url}/readyz`);

    // A delivery as the service would make it, signed here by hand.
    const timestamp = String(systemClock.now());
    const body = JSON.stringify({
      event: 'message.received',
      connection_id: 'connection1',
      message: {
        id: 'message1',
        wa_id: null,
        from: '447700900201',
        text: 'By hand',
        media_url: null,
        media_type: null,
        timestamp: 1_767_225_600_000,
      },
    });
    const signature = createHmac('sha256', 'registered-by-hand').update(`${timestamp}.${body}`).digest('hex');
    const answer = await fetch(`${url}/webhooks/messaging`, {
      method: 'POST',
      headers: { 'X-Service-Timestamp': timestamp, 'X-Service-Signature': `sha256=${signature}` },
      body,
    });
    expect([answer.status, await answer.json()]).toEqual([200, { ok: true }]);
    const token = SECRETS.CONNECTOR_API_TOKEN;
    const { messages } = await callJson<{ messages: ShownMessage[] }>(`${url}/v1/messages`, { token });
    expect(messages).toEqual([
      expect.objectContaining({ id: 'message1', text: 'By hand', firstSeenBy: 'webhook' }),
    ]);

    command.signal('SIGTERM');
    const { code, stdout } = await command.ended;
    expect(code).toBe(0);
    expect(stdout).toBe(`${JSON.stringify({ connectorUrl: url })}\n`);
  },
  SLOW_MS,
);

it(
  'leaves no Postgres behind on a SIGTERM while it starts one',
  async () => {
    const folder = await makeDataFolder();
    const env = {
      SERVICE_BASE_URL: 'http://127.0.0.1:1/api/v1',
      SERVICE_API_KEY: 'key',
      CONNECTOR_PORT: '0',
    };
    const command = spawnCli('connector', ['--data-dir', folder.path], { ...env, ...SECRETS });
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
  expect(stderr).toContain('DATABASE_URL: is not set');
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('CONNECTOR_SEALING_KEYS: is not set');
  expect(stderr).toContain('CONNECTOR_API_TOKEN: is not set');
  expect(stderr).toContain('CONECTOR_API_TOKEN is not a setting. Did you mean CONNECTOR_API_TOKEN?');
});
