import { createMetrics } from '../runtime/metrics/metrics.ts';
import type { Supervised } from '../runtime/supervisor/supervised.ts';
import type { ConnectorOptions } from './connector-options.ts';
import type { CommandContext } from './run-command.ts';
import { runConnector } from './run-connector.ts';
import { serveUntilStopped } from './serve-until-stopped.ts';
import { openServerDatabase } from './server-database.ts';

/** Long enough for a send in progress to be noted down; a container gives 15 s. */
export const SHUTDOWN_MS = 10_000;

/** Runs one connector process until it is asked to end: alone, or as one of a supervisor's. */
export async function serveConnector(
  { options, clock, print }: CommandContext,
  { databaseUrl, logLevel, ...settings }: ConnectorOptions,
  supervised: Supervised | undefined,
): Promise<void> {
  const serving = {
    level: logLevel,
    name: supervised === undefined ? 'connector' : `connector-${supervised.number}`,
    destination: options['json'] ? 'stderr' : 'stdout',
    clock,
    shutdownMs: SHUTDOWN_MS,
    // The supervisor hears a Ctrl-C, too.
    ...(supervised === undefined ? {} : { stopSignals: ['SIGTERM'] as const }),
  } as const;
  await serveUntilStopped(serving, async ({ logger, lifecycle }) => {
    supervised?.onDrain(() => {
      logger.info({ pid: process.pid }, 'stopping, as the supervisor asks');
      void lifecycle.exit();
    });
    const store = await openServerDatabase({
      url: databaseUrl,
      dataDir: String(options['data-dir'] ?? '.data'),
      clock,
      logger,
    });
    lifecycle.onClose('database server', () => store.close());
    const connector = await runConnector({
      ...settings,
      ...(supervised === undefined
        ? {}
        : { metrics: supervised.shareMetrics(ownMetrics(supervised), clock) }),
      databaseUrl: store.url,
      clock,
      logger,
    });
    lifecycle.onClose('connector', () => connector.close());
    const { url } = connector;
    if (options['json'] && supervised === undefined) print(`${JSON.stringify({ connectorUrl: url })}\n`);
    else logger.info({ url, role: settings.role, pid: process.pid }, 'connector ready');
    supervised?.ready(url);
  });
}

function ownMetrics({ number }: Supervised) {
  return createMetrics({ processMetrics: true, labels: { process: String(number) } });
}
