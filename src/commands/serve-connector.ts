import type { Clock } from '../runtime/clock/clock.ts';
import { createMetrics } from '../runtime/metrics/metrics.ts';
import type { Supervised } from '../runtime/supervisor/supervised.ts';
import { type ConnectorOptions, nameProcess } from './connector-options.ts';
import { CONNECTOR_SHUTDOWN_MS } from './connector-shutdown.ts';
import { loadHandlers } from './load-handlers.ts';
import type { CommandContext } from './run-command.ts';
import { runConnector } from './run-connector.ts';
import { serveUntilStopped } from './serve-until-stopped.ts';
import { openConnectorDatabase } from './server-database.ts';

/** For a process that shares its port with others. */
const DRAIN_MS = 4_000;

/** Runs one connector process until it is asked to stop, either on its own or under a supervisor. */
export async function serveConnector(
  { options, env, typos, clock, print }: CommandContext,
  { databaseUrl, logLevel, handlersModule, ...settings }: ConnectorOptions,
  supervised: Supervised | undefined,
): Promise<void> {
  const serving = {
    level: logLevel,
    name: supervised === undefined ? nameProcess(settings.role) : `connector-${supervised.number}`,
    destination: options['json'] ? 'stderr' : 'stdout',
    typos,
    clock,
    shutdownMs: CONNECTOR_SHUTDOWN_MS,
    ...(supervised === undefined ? {} : { stopSignals: [] }),
  } as const;
  await serveUntilStopped(serving, async ({ logger, lifecycle }) => {
    supervised?.onDrain(() => {
      logger.info({ pid: process.pid }, 'stopping at the request of the supervisor');
      void lifecycle.exit();
    });
    // First, because an error here is found quickly and needs nothing else.
    const handlers = await loadHandlers(handlersModule, env);
    const dataDir = String(options['data-dir'] ?? '.data');
    const store = await lifecycle.whenStarted(
      'database server',
      openConnectorDatabase({ url: databaseUrl, dataDir, clock, logger }),
      (started) => started.close(),
    );
    const connector = await runConnector({
      ...settings,
      handlers,
      ...(supervised === undefined ? {} : besideOthers(supervised, clock)),
      databaseUrl: store.url,
      clock,
      logger,
    });
    lifecycle.onClose('connector', () => connector.close());
    const { url } = connector;
    if (!(await connector.untilReady())) return;
    if (options['json'] && supervised === undefined) print(`${JSON.stringify({ connectorUrl: url })}\n`);
    else logger.info({ url, role: settings.role, pid: process.pid }, 'connector ready');
    supervised?.ready(url);
  });
}

/** What differs for a process that shares its port. */
function besideOthers(supervised: Supervised, clock: Clock) {
  const labels = { process: String(supervised.number) };
  const own = createMetrics({ processMetrics: true, labels });
  return { metrics: supervised.shareMetrics(own, clock), drainMs: DRAIN_MS, sharesPort: true };
}
