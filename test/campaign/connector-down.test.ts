import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { checkFeed, checkFinalStates, checkFollowed } from '../support/check-invariants.ts';
import { startCrashingConnector } from '../support/crashing-connector.ts';
import { createTestDatabase } from '../support/database.ts';
import { exchangeMessages, readQrConnections } from '../support/exchange-messages.ts';
import { findFreePort } from '../support/find-free-port.ts';
import { followFeed, readFeed } from '../support/follow-feed.ts';
import { type Caller, createCaller, readAllEntries, readAllMessages } from '../support/read-lists.ts';
import { startTestService } from '../support/service.ts';

const TOKEN = 'token-of-a-campaign-for-tests';
const DOWN_MS = 3_000;
const AROUND_MS = 1_500;
const RECEIPTS_MS = 10_000;
const MESSAGES = 20_000;
/** At least this many deliveries must succeed before the connector stops, and be dropped while it is down. */
const FELT = 20;

test('a poll recovers what a connector missed while it was down for three seconds under full load', async () => {
  const [test, database] = await Promise.all([startTestService(), createTestDatabase({ connector: true })]);
  onTestFinished(() => database.drop());
  onTestFinished(() => test.close());
  const { service, info, sandbox, client } = test;
  const { baseUrl, apiKey } = info;
  const port = await findFreePort();
  service.attach(`http://127.0.0.1:${port}`);
  const connector = await startCrashingConnector(
    {
      databaseUrl: database.url,
      port,
      apiToken: TOKEN,
      sealingKey: generateSealingKey(),
      env: {
        SERVICE_BASE_URL: baseUrl,
        SERVICE_API_KEY: apiKey,
        WEBHOOK_PUBLIC_URL: service.webhookUrl,
        RECONCILE_INTERVAL_MS: '3600000',
      },
    },
    1,
  );
  onTestFinished(async () => void (await connector.stop()));
  const url = await connector.live();
  const reader = followFeed({ live: connector.live, token: TOKEN });
  onTestFinished(() => reader.close());

  const over = new AbortController();
  const exchange = exchangeMessages({
    sandbox,
    service: client,
    connectionIds: await readQrConnections(client),
    phones: ['447700900201', '447700900202', '447700900204'],
    names: Array.from({ length: MESSAGES }, (_, number) => String(number)),
    signal: over.signal,
  });
  // On any machine, some events arrive before the connector stops, and some are lost while it is down.
  const untilSome = (outcome: string) =>
    expect.poll(() => count(sandbox, outcome), { timeout: 60_000, interval: 500 }).toBeGreaterThan(FELT);
  await Promise.all([systemClock.sleep(AROUND_MS), untilSome('delivered')]);
  await connector.down(async () => {
    await systemClock.sleep(DOWN_MS);
    await untilSome('dropped');
  });
  await systemClock.sleep(AROUND_MS);
  over.abort();
  await exchange;
  await sandbox('POST', '/clock/advance', { ms: RECEIPTS_MS });
  await service.settle();

  const api = createCaller(url, TOKEN);
  await api('POST', '/v1/sync', {});
  const truth = await readAllMessages(client, '/messages?limit=100');
  expect(checkFinalStates(await readAllMessages(api, '/v1/messages?limit=1000'), truth)).toEqual([]);
  const feed = await readFeed(url, TOKEN);
  await reader.until(({ seq }) => seq === feed.length);
  expect(checkFeed(feed)).toEqual([]);
  expect(checkFollowed(reader.changes, feed)).toEqual([]);
});

/** The number of deliveries with this outcome. */
async function count(sandbox: Caller, outcome: string): Promise<number> {
  return (await readAllEntries<object>(sandbox, `/deliveries?outcome=${outcome}&limit=100`)).length;
}
