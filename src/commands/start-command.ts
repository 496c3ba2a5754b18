import { join } from 'node:path';
import { readPortBase } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { CONNECTOR_SHUTDOWN_MS } from './connector-shutdown.ts';
import { claimForSandbox } from './database-owner.ts';
import { colour, describeLoop, describeReset } from './describe-loop.ts';
import { loadHandlers } from './load-handlers.ts';
import { explainLostKey, readLocalSecrets } from './local-secrets.ts';
import { portsFrom } from './ports.ts';
import { runCommand } from './run-command.ts';
import { serveUntilStopped } from './serve-until-stopped.ts';
import { howToStartAnother, openServerDatabase } from './server-database.ts';
import { describeUnused, startOptions } from './start-options.ts';

/** Sends take a fraction of a second, because there is no reason to wait for a simulation. */
const SEND_SCALE = 0.02;

const COMMAND = {
  name: 'start',
  summary: COMMANDS.start,
  options: {
    json: { type: 'boolean', description: 'print one JSON line when ready; logs go to standard error' },
    'port-base': {
      type: 'string',
      value: 'N',
      description: 'listen on N, N+10, N+11 and N+20 (default 4000); 0 uses free ports, without an OAuth app',
    },
    'data-dir': {
      type: 'string',
      value: 'DIR',
      description: 'folder for data and secrets (default .data)',
    },
  },
} as const;

await runCommand(COMMAND, async ({ options, env, clock, print, warnOfTypo, typos }) => {
  const { databaseUrl, platformDatabaseUrl, logLevel, handlersModule, ...settings } = startOptions(
    env,
    warnOfTypo,
  );
  const ports = portsFrom(readPortBase(options));
  const dataDir = String(options['data-dir'] ?? '.data');
  const say = (text: string): void => {
    if (!options['json']) print(colour(`${text}\n`));
  };
  const serving = {
    level: logLevel,
    name: 'start',
    destination: 'stderr',
    typos,
    clock,
    tells: options['json'] !== true,
    // Its connector takes as long as a separate one.
    shutdownMs: CONNECTOR_SHUTDOWN_MS,
  } as const;
  // Imported only here: loading it takes most of the start, and `--help` and usage errors do not need it.
  const { startLoop } = await import('./loop.ts');
  await serveUntilStopped(serving, async ({ logger, lifecycle }) => {
    const beganAt = clock.elapsed();
    const handlers = await loadHandlers(handlersModule, env);
    const secretsFile = join(dataDir, 'secrets.json');
    const server = await lifecycle.whenStarted(
      'database server',
      openServerDatabase({ url: databaseUrl, dataDir, clock, logger }),
      (started) => started.close(),
    );
    print(options['json'] ? '' : describeUnused('start', env));
    const at = (url: string, setting: string) => ({ url, setting, clock, logger });
    const platformUrl = platformDatabaseUrl?.reveal() ?? server.url;
    const setting = databaseUrl === undefined ? '--data-dir' : 'DATABASE_URL';
    await claimForSandbox(at(server.url, setting), { connector: true });
    if (platformUrl !== server.url)
      await claimForSandbox(at(platformUrl, 'PLATFORM_DATABASE_URL'), { connector: false });
    say(`database    ${server.note}`);
    // Only now: a folder with secrets counts as that of a loop.
    const secrets = readLocalSecrets(secretsFile);
    const starting = startLoop({
      ...settings,
      connectorDatabaseUrl: server.url,
      ownsConnectorData: databaseUrl === undefined,
      platformDatabaseUrl: platformUrl,
      handlers,
      ports,
      secrets,
      sendScale: SEND_SCALE,
      ownData: howToStartAnother('start', platformDatabaseUrl ?? databaseUrl),
      onReset: (info) => say(describeReset(info).trimEnd()),
      onTakenOver: () => void lifecycle.close().then(() => process.exit(1)),
      clock,
      logger,
    }).catch((error: unknown) => {
      throw explainLostKey(error, secretsFile);
    });
    const loop = await lifecycle.whenStarted('service and connector', starting, (started) => started.close());
    if (loop.emptied) say('connector   emptied: the service was reset while the connector was not running');
    const check = await lifecycle.whenStarted('self-check', loop.check(), () => undefined);
    say(
      'leftOut' in check
        ? `self-check  skipped: ${check.leftOut}`
        : `self-check  by webhook: ${check.webhookMs} ms · webhook dropped, repaired by polling: ${check.repairMs} ms`,
    );
    say(
      `ready       in ${((clock.elapsed() - beganAt) / 1000).toFixed(1)} s; Ctrl-C stops it, the data is kept`,
    );
    if (handlersModule !== undefined)
      say(`handlers    onChange of ${handlersModule} is called with each change`);
    const info = loop.info();
    print(options['json'] ? `${JSON.stringify(info)}\n` : colour(describeLoop(info)));
  });
});
