import { fileURLToPath } from 'node:url';
import { type Connector, createConnector } from '../../../src/connector/connector.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openDatabase } from '../../../src/runtime/database/database.ts';
import { migrateDatabase } from '../../../src/runtime/database/migrate.ts';
import { startHttpServer } from '../../../src/runtime/http-server/http-server.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { openNotifier } from '../../../src/runtime/notifier/open-notifier.ts';
import { createKeyRing, generateSealingKey } from '../../../src/runtime/sealing/key-ring.ts';
import { serveParent } from '../../process/serve-parent.ts';
import type { ServerCommands, ServerSetup } from '../contenders.ts';

const clock = systemClock;
const logger = createLogger({ level: 'warn', name: 'bench', destination: 'stderr' });

interface Running {
  readonly connector: Connector;
  readonly port: number;
  close(): Promise<void>;
}

let running: Running | undefined;

/** The product itself: a `web` process that knows a signing secret and a database, and no service. */
async function start({ databaseUrl, secret }: ServerSetup): Promise<Running> {
  const folder = fileURLToPath(new URL('../../../drizzle/connector', import.meta.url));
  await migrateDatabase({ url: databaseUrl, folder, schema: 'connector', logger, clock });
  const database = openDatabase({ url: databaseUrl, name: 'bench-connector', clock, logger });
  const notifier = await openNotifier({ database, databaseUrl, prefix: 'bench', clock, logger });
  const connector = await createConnector({
    database,
    notifier,
    clock,
    logger,
    role: 'web',
    apiToken: generateSealingKey(),
    keyRing: createKeyRing([generateSealingKey()]),
    webhookSecret: secret,
    reconcileIntervalMs: 45_000,
    inboxRetentionDays: 30,
  });
  const server = await startHttpServer({
    app: connector.app,
    host: '127.0.0.1',
    port: 0,
    logger,
    clock,
  });
  await connector.start();
  return {
    connector,
    port: server.port,
    async close() {
      await server.drain();
      await connector.close();
      await notifier.close();
      await database.close();
    },
  };
}

const commands: ServerCommands = {
  async listen(setup) {
    running = await start(setup);
    return { port: running.port };
  },
  settle: async () => running?.connector.settle(),
};

serveParent(commands, async () => running?.close());
