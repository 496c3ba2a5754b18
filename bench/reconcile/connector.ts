import { type RunningConnector, runConnector } from '../../src/commands/run-connector.ts';
import { systemClock as clock } from '../../src/runtime/clock/system-clock.ts';
import { type Database, openDatabase } from '../../src/runtime/database/database.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { logger } from '../context.ts';
import { serveParent } from '../process/serve-parent.ts';
import type { ServiceAddress, WalkerCommands } from './measure-reconcile.ts';

const LOOK_EVERY_MS = 25;
const COVERED = `SELECT EXISTS (SELECT FROM connector.coverage c WHERE c.watermark IS NOT NULL
  AND NOT EXISTS (SELECT FROM connector.gaps g WHERE g.kind = 'coverage')) AS covered`;

const token = generateSealingKey();
let ready:
  | { readonly connector: RunningConnector; readonly database: Database; readonly service: ServiceAddress }
  | undefined;

const commands: WalkerCommands = {
  /** Starts the product on its empty database, with no account yet. */
  async prepare({ databaseUrl, ...service }) {
    const connector = await runConnector({
      databaseUrl,
      host: '127.0.0.1',
      port: 0,
      role: 'all',
      apiToken: token,
      sealingKeys: [generateSealingKey()],
      serviceHosts: [new URL(service.baseUrl).host],
      reconcileIntervalMs: 45_000,
      inboxRetentionDays: 30,
      clock,
      logger,
    });
    const database = openDatabase({ url: databaseUrl, name: 'bench-watch', poolSize: 1, clock, logger });
    ready = { connector, database, service };
    await database.ping();
  },
  /** Gives it the account, lets it catch up by itself, and waits until polling has seen everything down to the end. */
  async walk() {
    if (ready === undefined) throw new Error('prepare comes first');
    const { connector, database, service } = ready;
    const began = clock.elapsed();
    const added = await fetch(`${connector.url}/v1/accounts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(service),
    });
    if (!added.ok) throw new Error(`the account was answered with ${added.status}`);
    while ((await database.query<{ covered: boolean }>(COVERED))[0]?.covered !== true)
      await clock.sleep(LOOK_EVERY_MS);
    const elapsedMs = clock.elapsed() - began;
    await connector.settle();
    const count = 'SELECT count(*) AS messages FROM connector.messages';
    const [row] = await database.query<{ messages: number }>(count, [], { deadlineMs: 60_000 });
    return { messages: row?.messages ?? 0, elapsedMs };
  },
};

serveParent(commands, async () => {
  await ready?.database.close();
  await ready?.connector.close();
});
