import {
  type RunConnectorOptions,
  type RunningConnector,
  runConnector,
} from '../../src/commands/run-connector.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { createTestDatabase } from './database.ts';
import { silentLogger } from './platform.ts';

/** A connector with a signing secret and without a service, on its own database. */
export interface TestConnector extends Omit<RunningConnector, 'database'> {
  readonly databaseUrl: string;
  readonly webhook: string;
  readonly secret: string;
  readonly token: string;
}

/**
 * Runs it in this process. `prepare` is called with the empty database and the key that will open its secrets;
 * `routeDatabase` gives the address under which the connector finds the database.
 */
export async function runTestConnector(
  options: {
    readonly prepare?: (databaseUrl: string, sealingKey: string) => Promise<void>;
    readonly routeDatabase?: (databaseUrl: string) => Promise<string>;
  } & Partial<RunConnectorOptions> = {},
): Promise<TestConnector> {
  const { prepare, routeDatabase, ...more } = options;
  const database = await createTestDatabase({ connector: true });
  const sealingKey = generateSealingKey();
  await prepare?.(database.url, sealingKey);
  const secret = 'whsec_of_a_test';
  const token = 'token-of-a-test';
  const connector = await runConnector({
    databaseUrl: (await routeDatabase?.(database.url)) ?? database.url,
    host: '127.0.0.1',
    port: 0,
    role: 'all',
    apiToken: token,
    sealingKeys: [sealingKey],
    webhookSecret: secret,
    reconcileIntervalMs: 45_000,
    inboxRetentionDays: 30,
    clock: systemClock,
    logger: silentLogger,
    ...more,
  });
  return {
    url: connector.url,
    databaseUrl: database.url,
    webhook: `${connector.url}/webhooks/messaging`,
    secret,
    token,
    untilReady: () => connector.untilReady(),
    settle: () => connector.settle(),
    restart: connector.restart,
    async close() {
      await connector.close();
      await database.drop();
    },
  };
}
