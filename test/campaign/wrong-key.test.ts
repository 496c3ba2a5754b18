import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { prepareConnector } from '../support/connector-process.ts';
import { startCrmSender } from '../support/crm-sender.ts';
import { createTestDatabase } from '../support/database.ts';
import { findFreePort } from '../support/find-free-port.ts';
import { untilSent } from '../support/read-connector.ts';
import { createCaller, readAllEntries, readAllOutbound } from '../support/read-lists.ts';
import { ROOT } from '../support/root.ts';
import { startTestService } from '../support/service.ts';
import { spawnCommand } from '../support/spawn-command.ts';

const SLOW_MS = 120_000;
const HOUR_MS = 3_600_000;
const TOKEN = 'token-of-a-fleet-of-four';
const TYPO = 'msk_typo-in-one-process';
const SEND_EVERY_MS = 300;

interface Sync {
  readonly accounts: readonly { readonly lastPoll: { readonly ok: boolean; readonly startedAt: string } }[];
}

test('a process with a mistyped key, started or rolled out by SIGHUP, does not affect four running ones', async ({
  onTestFinished,
}) => {
  const [{ service, info, sandbox, close }, database, folder, port] = await Promise.all([
    startTestService({ webhookSecret: 'whsec_of_a_fleet_of_four' }),
    createTestDatabase({ connector: true }),
    mkdtemp(join(tmpdir(), 'test-wrong-key-')),
    findFreePort(),
  ]);
  onTestFinished(() => rm(folder, { recursive: true }));
  onTestFinished(() => database.drop());
  onTestFinished(() => close());
  // After this time, a new number has no hourly caps.
  await sandbox('POST', '/clock/advance', { ms: 73 * HOUR_MS });
  const sealingKey = generateSealingKey();
  const env = {
    SERVICE_BASE_URL: info.baseUrl,
    WEBHOOK_PUBLIC_URL: service.webhookUrl,
    RECONCILE_INTERVAL_MS: '1000',
  };
  const nameKey = (key: string): Promise<void> => writeFile(join(folder, '.env'), `SERVICE_API_KEY=${key}\n`);
  await nameKey(info.apiKey);
  const fleet = spawnCommand('node', [join(ROOT, 'src/cli/connector.ts'), '--processes', '4'], {
    cwd: folder,
    env: {
      ...env,
      NODE_ENV: 'test',
      DATABASE_URL: database.url,
      CONNECTOR_PORT: '0',
      CONNECTOR_API_TOKEN: TOKEN,
      CONNECTOR_SEALING_KEYS: sealingKey,
    },
  });
  onTestFinished(() => fleet.kill());
  const { url } = JSON.parse(await fleet.said(/all processes ready/));
  service.attach(url);
  const connector = createCaller(url, TOKEN);
  await connector('POST', '/v1/sync', {});
  const { connections } = await createCaller(info.baseUrl, info.apiKey)<{
    connections: { id: string; provider: string }[];
  }>('GET', '/connections');
  const queues = connections
    .filter(({ provider }) => provider === 'qr')
    .map(({ id }, index) => ({ connectionId: id, phone: String(447_700_901_500 + index) }));
  for (const { phone } of queues) await sandbox('PUT', `/contacts/${phone}`, { onNetwork: true });
  const crm = startCrmSender({ url, token: TOKEN, queues, everyMs: SEND_EVERY_MS });
  onTestFinished(() => crm.stop());
  const polledAt = async (): Promise<string> => {
    const [account] = (await connector<Sync>('GET', '/v1/sync')).accounts;
    expect(account?.lastPoll.ok).toBe(true);
    return account?.lastPoll.startedAt ?? '';
  };
  const logged = (pattern: RegExp): string[] =>
    fleet
      .stdout()
      .split('\n')
      .filter((line) => pattern.test(line));

  // As a separate process, as on another machine.
  const joining = prepareConnector({
    databaseUrl: database.url,
    port,
    apiToken: TOKEN,
    sealingKey,
    env: { ...env, SERVICE_API_KEY: TYPO },
  });
  await joining.loaded;
  joining.go();
  expect(await joining.ended).toBe(2);
  expect(joining.errors()).toMatch(/SERVICE_API_KEY: is refused by .*\(401 invalid_key\)/);
  expect(joining.errors()).not.toContain(TYPO);

  // In a roll-out.
  await nameKey(TYPO);
  process.kill(fleet.pid ?? 0, 'SIGHUP');
  await expect.poll(() => logged(/roll-out stopped/).length, { timeout: SLOW_MS }).toBe(1);
  expect(logged(/roll-out stopped/)[0]).toMatch(/exit code 2.*SERVICE_API_KEY is refused by/);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  const before = await polledAt();
  await expect.poll(polledAt, { timeout: SLOW_MS }).not.toBe(before);
  expect(logged(/"errorCode":"invalid_key"|a poll failed/)).toEqual([]);

  // The correct key rolls out.
  await nameKey(info.apiKey);
  process.kill(fleet.pid ?? 0, 'SIGHUP');
  await expect.poll(() => logged(/all processes replaced/).length, { timeout: SLOW_MS }).toBe(1);
  await crm.stop();
  await untilSent(database.url);
  await service.settle();

  expect((await readAllOutbound(connector)).filter(({ state }) => state !== 'sent')).toEqual([]);
  for (const { connectionId, phone } of queues) {
    const taken = crm.taken.get(connectionId) ?? [];
    expect(taken.length).toBeGreaterThan(5);
    const received = await readAllEntries<{ text: string }>(sandbox, `/contacts/${phone}/messages?limit=100`);
    expect(received.map(({ text }) => text)).toEqual(taken);
  }
  // Each process that had the mistyped key tried it once, with one call.
  const refused = await readAllEntries<{ method: string; path: string }>(
    sandbox,
    '/calls?code=invalid_key&limit=100',
  );
  expect(refused.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /connections',
    'GET /connections',
  ]);
});
