import { type RunningConnector, runConnector } from '../../src/commands/run-connector.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { type Database, openDatabase } from '../../src/runtime/database/database.ts';
import { createLogger } from '../../src/runtime/logger/logger.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { serveParent } from '../process/serve-parent.ts';
import type { WalkerCommands, WalkSetup } from './walk-commands.ts';

const LOOK_EVERY_MS = 25;

const clock = systemClock;
const logger = createLogger({ level: 'warn', name: 'bench', destination: 'stderr' });

interface Ready {
  readonly connector: RunningConnector;
  readonly database: Database;
  readonly setup: WalkSetup;
}

const token = generateSealingKey();
let ready: Ready | undefined;

/** Resolves once polling has seen everything down to the end. */
async function untilCovered(database: Database): Promise<void> {
  for (;;) {
    const [row] = await database.query<{ covered: boolean }>(
      `SELECT EXISTS (SELECT FROM connector.coverage c WHERE c.watermark IS NOT NULL
                         AND NOT EXISTS (SELECT FROM connector.gaps g WHERE g.kind = 'coverage')) AS covered`,
    );
    if (row?.covered === true) return;
    await clock.sleep(LOOK_EVERY_MS);
  }
}

const commands: WalkerCommands = {
  /** Starts the product on its empty database, with no account yet. */
  async prepare(setup) {
    const { databaseUrl } = setup;
    const connector = await runConnector({
      databaseUrl,
      host: '127.0.0.1',
      port: 0,
      role: 'all',
      apiToken: token,
      sealingKeys: [generateSealingKey()],
      serviceHosts: [new URL(setup.baseUrl).host],
      reconcileIntervalMs: 45_000,
      inboxRetentionDays: 30,
      clock,
      logger,
    });
    const database = openDatabase({ url: databaseUrl, name: 'bench-watch', poolSize: 1, clock, logger });
    ready = { connector, database, setup };
    await database.ping();
  },
  /** Gives it the account, and lets it catch up by itself. */
  async walk() {
    if (ready === undefined) throw new Error('prepare comes first');
    const { connector, database, setup } = ready;
    const began = clock.elapsed();
    const added = await fetch(`${connector.url}/v1/accounts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ baseUrl: setup.baseUrl, apiKey: setup.apiKey }),
    });
    if (!added.ok) throw new Error(`the account was answered with ${added.status}`);
    await untilCovered(database);
    const elapsedMs = clock.elapsed() - began;
    await connector.settle();
    const [row] = await database.query<{ messages: number }>(
      'SELECT count(*) AS messages FROM connector.messages',
      [],
      { deadlineMs: 60_000 },
    );
    return { messages: row?.messages ?? 0, elapsedMs };
  },
};

serveParent(commands, async () => {
  await ready?.database.close();
  await ready?.connector.close();
});
