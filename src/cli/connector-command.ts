import { COMMANDS } from './commands.ts';
import { connectorOptions } from './connector-options.ts';
import { runCommand } from './run-command.ts';
import { runConnector } from './run-connector.ts';
import { serveUntilStopped } from './serve-until-stopped.ts';
import { openServerDatabase } from './server-database.ts';

/** Long enough for a send in progress to be noted down; a container gives 15 s. */
const SHUTDOWN_MS = 10_000;

const COMMAND = {
  name: 'connector',
  summary: COMMANDS.connector,
  options: {
    json: { type: 'boolean', description: 'print one JSON line, {"connectorUrl"}, when ready' },
    'data-dir': {
      type: 'string',
      value: 'DIR',
      description: 'where a Postgres of its own keeps its data (default .data)',
    },
  },
} as const;

await runCommand(COMMAND, async ({ options, env, clock, print, warnOfTypo }) => {
  const { databaseUrl, logLevel, ...settings } = connectorOptions(env, warnOfTypo);
  const serving = {
    level: logLevel,
    name: 'connector',
    destination: options['json'] ? 'stderr' : 'stdout',
    clock,
    shutdownMs: SHUTDOWN_MS,
  } as const;
  await serveUntilStopped(serving, async ({ logger, lifecycle }) => {
    const store = await openServerDatabase({
      url: databaseUrl,
      dataDir: String(options['data-dir'] ?? '.data'),
      clock,
      logger,
    });
    lifecycle.onClose('database server', () => store.close());
    const connector = await runConnector({ ...settings, databaseUrl: store.url, clock, logger });
    lifecycle.onClose('connector', () => connector.close());
    if (options['json']) print(`${JSON.stringify({ connectorUrl: connector.url })}\n`);
    else logger.info({ url: connector.url, role: settings.role }, 'connector ready');
  });
});
