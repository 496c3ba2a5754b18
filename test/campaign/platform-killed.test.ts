import { expect, onTestFinished, test } from 'vitest';
import { runConnector } from '../../src/commands/run-connector.ts';
import type { SandboxInfo } from '../../src/contract/sandbox/info.ts';
import { seededRandom } from '../../src/platform/seeded-random.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { checkFeed, checkFinalStates } from '../support/check-invariants.ts';
import { createTestDatabase } from '../support/database.ts';
import { exchangeMessages, readQrConnections } from '../support/exchange-messages.ts';
import { findFreePort } from '../support/find-free-port.ts';
import { readFeed } from '../support/follow-feed.ts';
import { silentLogger } from '../support/platform.ts';
import { type Caller, createCaller, readAllEntries, readAllMessages } from '../support/read-lists.ts';
import { findPortBase, type SpawnedCommand, spawnCli } from '../support/spawn-command.ts';

const SEED = 12;
const KILLS = 6;
/** The number of calls that each process of the service answers before it is killed, on any machine. */
const CALLS = 60;
const LONGER_MS = 300;
const MESSAGES = 50_000;
const RECEIPTS_MS = 10_000;
const TOKEN = 'token-of-a-campaign-for-tests';
const HOST = 'crm.example.com';

test('a poll finds the changes that a service did not deliver because it was killed', async () => {
  const database = await createTestDatabase({ connector: true, platform: true });
  onTestFinished(() => database.drop());
  const base = await findPortBase();
  let service = startService(base, database.url);
  onTestFinished(() => service.kill());
  const { baseUrl, apiKey, sandboxUrl } = JSON.parse(await service.said(/^\{/)) as SandboxInfo;
  const sandbox = createCaller(`${sandboxUrl}/sandbox/v1`);
  const client = createCaller(baseUrl, apiKey);

  const port = await findFreePort();
  await sandbox('PUT', `/hosts/${HOST}`, { target: `http://127.0.0.1:${port}` });
  const connector = await runConnector({
    databaseUrl: database.url,
    host: '127.0.0.1',
    port,
    role: 'all',
    apiToken: TOKEN,
    sealingKeys: [generateSealingKey()],
    service: { baseUrl, apiKey },
    webhookPublicUrl: `https://${HOST}/webhooks/messaging`,
    reconcileIntervalMs: 3_600_000,
    inboxRetentionDays: 30,
    clock: systemClock,
    logger: silentLogger,
  });
  onTestFinished(() => connector.close());

  const random = seededRandom(SEED);
  const connectionIds = await readQrConnections(client);
  for (let kill = 0; kill < KILLS; kill += 1) {
    await sandbox('PUT', '/timing', { sendScale: 0 });
    const over = new AbortController();
    const busy = Promise.withResolvers<void>();
    let answered = 0;
    const countAnswer = (): void => {
      answered += 1;
      if (answered === CALLS) busy.resolve();
    };
    const exchange = exchangeMessages({
      sandbox: untilGone(sandbox, over, countAnswer),
      service: untilGone(client, over, countAnswer),
      connectionIds,
      phones: ['447700900201', '447700900202', '447700900204'],
      names: Array.from({ length: MESSAGES }, (_, number) => `${kill}.${number}`),
      signal: over.signal,
    });
    await Promise.race([busy.promise, exchange]);
    await systemClock.sleep(random() * LONGER_MS);
    await service.kill();
    await exchange;
    expect(answered).toBeGreaterThanOrEqual(CALLS);
    service = startService(base, database.url);
    await service.said(/^\{/);
  }
  await sandbox('POST', '/clock/advance', { ms: RECEIPTS_MS });
  const deliveries = await readAllEntries<{ outcome: string; reason?: string }>(
    sandbox,
    '/deliveries?limit=100',
  );
  expect(deliveries.filter(({ reason }) => reason === 'interrupted').length).toBeGreaterThan(0);
  expect(deliveries.filter(({ outcome }) => outcome === 'delivered').length).toBeGreaterThan(KILLS);

  const api = createCaller(connector.url, TOKEN);
  await api('POST', '/v1/sync', {});
  const truth = await readAllMessages(client, '/messages?limit=100');
  expect(truth.length).toBeGreaterThan(10 * KILLS);
  expect(checkFinalStates(await readAllMessages(api, '/v1/messages?limit=1000'), truth)).toEqual([]);
  await connector.settle();
  expect(checkFeed(await readFeed(connector.url, TOKEN))).toEqual([]);
});

function startService(base: number, databaseUrl: string): SpawnedCommand {
  return spawnCli('platform', ['--json', '--port-base', String(base)], { DATABASE_URL: databaseUrl });
}

/** Ends the exchange at the first failed call, because the service is gone. */
function untilGone(call: Caller, over: AbortController, onAnswer: () => void): Caller {
  return async <Body>(method: string, path: string, body?: unknown): Promise<Body> => {
    try {
      const answer = await call<Body>(method, path, body);
      onAnswer();
      return answer;
    } catch {
      over.abort();
      return {} as Body;
    }
  };
}
