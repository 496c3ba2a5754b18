import type { TestContext } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { type CrashingConnector, startCrashingConnector } from './crashing-connector.ts';
import type { Queue } from './crm-sender.ts';
import { createTestDatabase } from './database.ts';
import { startTestProxy, type TestProxy } from './haproxy.ts';
import { createLoadSender, type LoadSender } from './load-sender.ts';
import { type Caller, createCaller } from './read-lists.ts';
import { startTestRedis } from './redis.ts';
import { startTestService } from './service.ts';

export const TOKEN = 'token-of-the-roles-for-tests';
const SECRET = 'whsec_of_the_roles';
const HOUR_MS = 3_600_000;
/** After this time, a new number has no hourly caps and is still within its trial. */
const WARM_MS = 73 * HOUR_MS;
/** Contacts that only this campaign writes to. */
const FIRST_PHONE = 447_700_901_000;

/** The service, two webs behind the project's proxy, two workers, one Postgres and one Redis. */
export interface RolesWorld {
  readonly databaseUrl: string;
  readonly webs: readonly CrashingConnector[];
  readonly workers: readonly CrashingConnector[];
  readonly proxy: TestProxy;
  readonly sandbox: Caller;
  readonly service: Caller;
  /** Through the proxy. */
  readonly connector: Caller;
  /** A person for each connection that sends events. */
  readonly queues: readonly Queue[];
  /** Sends signed webhooks as the service would, through the proxy, each on its own connection. */
  createSender(): LoadSender;
  /** Resolves when the service has no more work. */
  settle(): Promise<void>;
}

/** Starts everything, and stops it in `onTestFinished`. */
export async function startRolesWorld(onTestFinished: TestContext['onTestFinished']): Promise<RolesWorld> {
  const [test, database, redis] = await Promise.all([
    startTestService({ webhookSecret: SECRET }),
    createTestDatabase({ connector: true }),
    startTestRedis(['--maxmemory-policy', 'noeviction']),
  ]);
  onTestFinished(() => database.drop());
  onTestFinished(() => test.close());
  onTestFinished(() => redis.stop());
  const { info, sandbox, client: service } = test;
  await sandbox('POST', '/clock/advance', { ms: WARM_MS });

  const settings = { databaseUrl: database.url, apiToken: TOKEN, sealingKey: generateSealingKey() };
  const env = {
    REDIS_URL: redis.url,
    SERVICE_BASE_URL: info.baseUrl,
    SERVICE_API_KEY: info.apiKey,
    WEBHOOK_PUBLIC_URL: test.service.webhookUrl,
    RECONCILE_INTERVAL_MS: '2000',
  };
  const start = (role: 'web' | 'worker'): Promise<CrashingConnector> =>
    startCrashingConnector({ ...settings, env: { ...env, CONNECTOR_ROLE: role } }, 0);
  const started = await Promise.all([start('web'), start('web'), start('worker'), start('worker')]);
  onTestFinished(async () => void (await Promise.all(started.map((each) => each.stop()))));
  const urls = await Promise.all(started.map((each) => each.live()));
  const [webs, workers] = [started.slice(0, 2), started.slice(2)];
  const proxy = await startTestProxy(urls.slice(0, 2));
  onTestFinished(() => proxy.stop());
  test.service.attach(proxy.url);
  const connector = createCaller(proxy.url, TOKEN);
  await connector('POST', '/v1/sync', {});

  return {
    databaseUrl: database.url,
    webs,
    workers,
    proxy,
    sandbox,
    service,
    connector,
    queues: await addPeople(sandbox, service),
    createSender() {
      const sender = createLoadSender({
        secret: SECRET,
        clock: systemClock,
        keepAlive: false,
        targets: () => [`${proxy.url}/webhooks/messaging`],
      });
      onTestFinished(() => sender.close());
      return sender;
    },
    settle: () => test.service.settle(),
  };
}

async function addPeople(sandbox: Caller, service: Caller): Promise<Queue[]> {
  const { connections } = await service<{ connections: { id: string; provider: string }[] }>(
    'GET',
    '/connections',
  );
  const telling = connections.filter(({ provider }) => provider === 'qr');
  return await Promise.all(
    telling.map(async ({ id: connectionId }, index) => {
      const phone = String(FIRST_PHONE + index);
      await sandbox('PUT', `/contacts/${phone}`, { onNetwork: true, deliverAfterMs: 0, readAfterMs: 50 });
      return { connectionId, phone };
    }),
  );
}
