import { randomBytes } from 'node:crypto';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { createLogger, type Logger } from '../../../src/runtime/logger/logger.ts';
import type { Notifier } from '../../../src/runtime/notifier/notifier.ts';
import { openNotifier } from '../../../src/runtime/notifier/open-notifier.ts';
import { createTestDatabase, openPool, openTestDatabase } from '../../support/database.ts';
import { type FaultProxy, startFaultProxy } from '../../support/fault-proxy.ts';
import { ANY_REDIS_MISSING, openTestRedis } from '../../support/redis.ts';

const silent = createLogger({ level: 'silent', name: 'test' });

/** A carrier of notifications, behind a proxy that can disturb it. */
export interface Carrier {
  readonly proxy: FaultProxy;
  /** Opens a notifier as another process of the same deployment would. */
  open(logger?: Logger): Promise<Notifier>;
  close(): Promise<void>;
}

export interface CarrierKind {
  readonly name: string;
  /** Why it cannot be tested here. */
  readonly missing: string | undefined;
  start(): Promise<Carrier>;
}

async function behindProxy(
  target: string,
  openAt: (url: string, logger: Logger, onClose: (close: () => Promise<void>) => void) => Promise<Notifier>,
): Promise<Carrier> {
  const { hostname, port } = new URL(target);
  const proxy = await startFaultProxy({ host: hostname, port: Number(port) });
  const closes: (() => Promise<void>)[] = [];
  return {
    proxy,
    async open(logger = silent) {
      const notifier = await openAt(proxy.route(target), logger, (close) => closes.push(close));
      closes.push(() => notifier.close());
      return notifier;
    },
    async close() {
      for (const close of closes.reverse()) await close();
      await proxy.close();
    },
  };
}

async function startPostgres(): Promise<Carrier> {
  const test = await createTestDatabase();
  const carrier = await behindProxy(test.url, async (databaseUrl, logger, onClose) => {
    const database = openPool(databaseUrl, { poolSize: 2 });
    onClose(() => database.close());
    return await openNotifier({ database, databaseUrl, prefix: 'test-1', clock: systemClock, logger });
  });
  return {
    ...carrier,
    async close() {
      await carrier.close();
      await test.drop();
    },
  };
}

async function startRedis(): Promise<Carrier> {
  const server = await openTestRedis();
  const { url, database, close } = await openTestDatabase({}, 2);
  const prefix = `test-${randomBytes(4).toString('hex')}`;
  const carrier = await behindProxy(server.url, (redisUrl, logger) =>
    openNotifier({ database, databaseUrl: url, redisUrl, prefix, clock: systemClock, logger }),
  );
  return {
    ...carrier,
    async close() {
      await carrier.close();
      await server.stop();
      await close();
    },
  };
}

/** All carriers of notifications. The whole suite runs on each. */
export const CARRIERS: readonly CarrierKind[] = [
  { name: 'Postgres', missing: undefined, start: startPostgres },
  { name: 'Redis', missing: ANY_REDIS_MISSING, start: startRedis },
];
