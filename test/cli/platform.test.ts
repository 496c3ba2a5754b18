import { expect, it } from 'vitest';
import { sandboxInfo } from '../../src/contract/sandbox/info.ts';
import { createTestDatabase } from '../support/database.ts';
import { callJson } from '../support/loop-client.ts';
import { spawnCli } from '../support/spawn-command.ts';

it('npm run platform serves the service and its sandbox, and attaches no connector', async () => {
  const database = await createTestDatabase();
  const command = spawnCli('platform', ['--json', '--port-base', '0'], {
    PLATFORM_DATABASE_URL: database.url,
    PLATFORM_TRUSTED_PROXIES: '127.0.0.1',
  });

  const info = sandboxInfo.strict().parse(JSON.parse(await command.said(/./)));
  const listed = await callJson<{ connections: unknown[] }>(`${info.baseUrl}/connections`, {
    token: info.apiKey,
  });
  const limited = await callJson<{ key: string }>(
    `${info.sandboxUrl}/sandbox/v1/workspaces/${info.workspaceId}/api-keys`,
    { method: 'POST', body: { ipAllowlist: ['203.0.113.7'] } },
  );
  const behindProxy = await callJson<{ connections: unknown[] }>(`${info.legacyBaseUrl}/connections`, {
    token: limited.key,
    headers: { 'x-forwarded-for': '203.0.113.7' },
  });
  const noConnector = await fetch(`${info.sandboxUrl}/connector/healthz`);
  command.signal('SIGINT');
  const { code, stdout } = await command.ended;

  expect(info).toMatchObject({ connectorUrl: null, connectorToken: null, webhookUrl: null });
  expect(listed.connections.length).toBeGreaterThan(0);
  expect(behindProxy).toEqual(listed);
  expect(noConnector.status).toBe(404);
  expect(code).toBe(0);
  expect(stdout.trimEnd().split('\n')).toHaveLength(1);
  await database.drop();
}, 120_000);
