import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sandboxInfo } from '../../src/contract/sandbox/info.ts';
import { makeDataFolder } from '../support/data-folder.ts';
import { createTestDatabase } from '../support/database.ts';
import { findPortBase } from '../support/find-free-port.ts';
import { callJson, createLoopClient } from '../support/loop-client.ts';
import { makeFolder } from '../support/make-folder.ts';
import { ROOT } from '../support/root.ts';
import { STOPPED, spawnCli, spawnCommand } from '../support/spawn-command.ts';

it('npm run platform serves the service and its sandbox, without a connector', async () => {
  const database = await createTestDatabase();
  const command = spawnCli('platform', ['--json', '--port-base', '0'], {
    PLATFORM_DATABASE_URL: database.url,
    // That of a connector.
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
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

it('npm run platform refuses to listen on other interfaces without a name, and names the setting', async () => {
  for (const [words, env] of [
    [['--host', '0.0.0.0'], {}],
    [[], { PLATFORM_HOST: '0.0.0.0', PLATFORM_ALLOWED_HOSTS: '' }],
  ] as const) {
    const { code, stderr } = await spawnCli('platform', ['--port-base', '0', ...words], env).ended;
    expect(code).toBe(2);
    expect(stderr).toContain(
      'PLATFORM_ALLOWED_HOSTS: is not set, but PLATFORM_HOST is 0.0.0.0, where other machines connect. ' +
        'Set it (or --allowed-hosts) to the names that they use, for example messaging-service,localhost. ' +
        'Requests for any other name are refused.',
    );
  }
});

it('npm run platform prints the settings for a connector of your own, which work, and announces its end in two lines on Ctrl-C', async () => {
  const base = await findPortBase();
  const data = await makeDataFolder();
  const folder = makeFolder();
  // With Postgres of its own, as for somebody who has installed nothing.
  const platform = spawnCli('platform', ['--port-base', String(base), '--data-dir', data.path]);
  const start = await platform.said(/^npm run connector/);
  const printed = platform.stdout();

  const env = printed.slice(printed.indexOf('# .env'), printed.indexOf('# Its tunnel'));
  const tunnel = /^curl -s -X PUT .*$/m.exec(printed)?.[0] ?? '';
  await writeFile(join(folder, '.env'), env);
  const opened = await spawnCommand('sh', ['-e', '-c', tunnel.replace('curl', 'curl --fail-with-body')])
    .ended;
  expect(opened.code, opened.stdout).toBe(0);
  // The line itself, for a folder that is not the repository.
  const line = start.replace('npm run connector --', `exec node ${ROOT}/src/cli/connector.ts`);
  const connector = spawnCommand('sh', ['-c', line], { cwd: folder });
  await connector.said(/connector ready/);

  const client = createLoopClient({
    sandboxUrl: `http://127.0.0.1:${base}`,
    baseUrl: `http://127.0.0.1:${base + 10}/api/v1`,
    apiKey: /^SERVICE_API_KEY=(.+)$/m.exec(env)?.[1] ?? '',
    connectorUrl: `http://127.0.0.1:${base + 20}`,
    connectorToken: /^CONNECTOR_API_TOKEN=(.+)$/m.exec(env)?.[1] ?? '',
  });
  await client.failPolls();
  const messageId = await client.write(await client.qrConnection(), 'By webhook');
  expect(await client.arrival(messageId)).toMatchObject({ text: 'By webhook', firstSeenBy: 'webhook' });

  connector.signal('SIGTERM');
  await connector.ended;
  platform.signal('SIGINT');
  const end = await platform.ended;
  expect(end.stderr).toMatch(STOPPED);
  expect(end.code).toBe(0);
  await data.remove();
}, 120_000);
