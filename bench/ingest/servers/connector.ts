import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { textIndexStatements } from '../../../src/connector/api/messages.ts';
import { createConnector } from '../../../src/connector/connector.ts';
import { beginMessagePeriod } from '../../../src/connector/db/message-periods.ts';
import { systemClock as clock } from '../../../src/runtime/clock/system-clock.ts';
import { startHttpServer } from '../../../src/runtime/http-server/http-server.ts';
import { openNotifier } from '../../../src/runtime/notifier/open-notifier.ts';
import { createKeyRing, generateSealingKey } from '../../../src/runtime/sealing/key-ring.ts';
import { logger } from '../../context.ts';
import { openSchema } from '../../postgres/open-schema.ts';
import { serveParent } from '../../process/serve-parent.ts';
import type { ServerCommands } from '../measure-ingest.ts';

/** What costs something and is off by default. A worker uses it. */
const options = (folder: string) =>
  ({ role: 'all', messageRetentionDays: 7, mediaStore: { kind: 'disk', folder } }) as const;

let running: { settle(): Promise<void>; close(): Promise<void> } | undefined;

const commands: ServerCommands = {
  /** The product itself: a process that knows a signing secret and a database, and no service. */
  async listen({ name, databaseUrl, secret }) {
    const database = await openSchema('connector', databaseUrl);
    const folder = mkdtempSync(join(tmpdir(), 'bench-media-'));
    if (name === 'options') {
      for (const statement of await textIndexStatements(database)) await database.query(statement);
      // A new message is looked for in each period of the retention.
      for (const days of [8, 6, 4, 2]) await beginMessagePeriod(database, clock.now() - days * 86_400_000, 0);
    }
    const notifier = await openNotifier({ database, databaseUrl, prefix: 'bench', clock, logger });
    const connector = await createConnector({
      database,
      notifier,
      clock,
      logger,
      ...(name === 'options' ? options(folder) : { role: 'web' }),
      apiToken: generateSealingKey(),
      keyRing: createKeyRing([generateSealingKey()]),
      webhookSecret: secret,
      reconcileIntervalMs: 45_000,
      inboxRetentionDays: 30,
    });
    const server = await startHttpServer({ app: connector.app, host: '127.0.0.1', port: 0, logger, clock });
    await connector.start();
    running = {
      settle: () => connector.settle(),
      async close() {
        await server.drain();
        await connector.close();
        await notifier.close();
        await database.close();
        rmSync(folder, { recursive: true });
      },
    };
    return { port: server.port };
  },
  settle: async () => running?.settle(),
};

serveParent(commands, async () => running?.close());
