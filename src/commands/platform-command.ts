import { join } from 'node:path';
import { ConfigurationError } from '../runtime/config/configuration-error.ts';
import type { Environment } from '../runtime/config/read-settings.ts';
import { isLoopbackAddress } from '../runtime/http-server/loopback.ts';
import { type CommandOptions, readPortBase } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { claimForSandbox } from './database-owner.ts';
import { colour, describeLoop, describePlatform, describeReset } from './describe-loop.ts';
import { readLocalSecrets } from './local-secrets.ts';
import { portsFrom } from './ports.ts';
import { runCommand } from './run-command.ts';
import { serveUntilStopped } from './serve-until-stopped.ts';
import { howToStartAnother, openServerDatabase } from './server-database.ts';
import { describeUnused, type StartOptions, startOptions } from './start-options.ts';

/** It takes a fraction of a second, but must not fail on a machine with little CPU time. */
const SHUTDOWN_MS = 5_000;
const REAL_PACE = 1;
/** Suggested if the service's own ports are free ones. */
const DEFAULT_CONNECTOR_PORT = portsFrom().connector;

const COMMAND = {
  name: 'platform',
  summary: COMMANDS.platform,
  options: {
    json: { type: 'boolean', description: 'print one JSON line when ready; logs go to standard error' },
    'port-base': {
      type: 'string',
      value: 'N',
      description: 'listen on N, N+10 and N+11 (default 4000); 0 uses free ports',
    },
    host: {
      type: 'string',
      value: 'ADDRESS',
      description: 'listen on this address (default: PLATFORM_HOST, or 127.0.0.1)',
    },
    'allowed-hosts': {
      type: 'string',
      value: 'NAMES',
      description:
        'names by which it is reached, the first one in the addresses that it gives out (default: PLATFORM_ALLOWED_HOSTS)',
    },
    'data-dir': { type: 'string', value: 'DIR', description: 'folder for data (default .data)' },
  },
} as const;

/** The options that stand for a setting. */
const SETTING_OF = { host: 'PLATFORM_HOST', 'allowed-hosts': 'PLATFORM_ALLOWED_HOSTS' } as const;

function withOptions(env: Environment, options: CommandOptions): Environment {
  const given = Object.entries(SETTING_OF).flatMap(([option, setting]) =>
    options[option] === undefined ? [] : [[setting, String(options[option])] as const],
  );
  return { ...env, ...Object.fromEntries(given) };
}

/** @throws ConfigurationError for an address of other machines if no name is allowed: any web page could use one. */
function refuseUnnamed({ host, allowedHosts }: Pick<StartOptions, 'host' | 'allowedHosts'>): void {
  if (allowedHosts.length > 0 || isLoopbackAddress(host)) return;
  throw new ConfigurationError([
    {
      setting: 'PLATFORM_ALLOWED_HOSTS',
      problem:
        `is not set, but PLATFORM_HOST is ${host}, where other machines connect. ` +
        'Set it (or --allowed-hosts) to the names that they use, for example messaging-service,localhost. ' +
        'Requests for any other name are refused.',
    },
  ]);
}

await runCommand(COMMAND, async ({ options, env, clock, print, warnOfTypo, typos }) => {
  const settings = startOptions(withOptions(env, options), warnOfTypo);
  refuseUnnamed(settings);
  const ports = portsFrom(readPortBase(options));
  const { logLevel: level } = settings;
  const serving = {
    level,
    name: 'platform',
    destination: 'stderr',
    typos,
    clock,
    tells: options['json'] !== true,
    shutdownMs: SHUTDOWN_MS,
  } as const;
  // Imported only here: loading it takes most of the start, and `--help` and usage errors do not need it.
  const { runService } = await import('./run-service.ts');
  await serveUntilStopped(serving, async ({ logger, lifecycle }) => {
    const dataDir = String(options['data-dir'] ?? '.data');
    const databaseUrl = settings.platformDatabaseUrl ?? settings.databaseUrl;
    const say = (text: string): void => {
      if (!options['json']) print(colour(text));
    };
    const server = await lifecycle.whenStarted(
      'database server',
      openServerDatabase({ url: databaseUrl, dataDir, clock, logger }),
      (started) => started.close(),
    );
    say(describeUnused('platform', env));
    const setting = settings.platformDatabaseUrl === undefined ? 'DATABASE_URL' : 'PLATFORM_DATABASE_URL';
    const named = { url: server.url, setting: databaseUrl === undefined ? '--data-dir' : setting };
    await claimForSandbox({ ...named, clock, logger }, { connector: false });
    const starting = runService({
      databaseUrl: server.url,
      ports,
      host: settings.host,
      allowedHosts: settings.allowedHosts,
      sendScale: REAL_PACE,
      ownData: howToStartAnother('platform', databaseUrl),
      onReset: (info) => say(describeReset(info)),
      trustedProxies: settings.trustedProxies,
      webhookSecret: settings.webhookSecret,
      tunnelTargets: settings.tunnelTargets,
      onTakenOver: () => void lifecycle.close().then(() => process.exit(1)),
      clock,
      logger,
    });
    const service = await lifecycle.whenStarted('service', starting, (started) => started.close());
    const info = service.sandbox.info();
    if (options['json']) print(`${JSON.stringify(info)}\n`);
    if (!isLoopbackAddress(settings.host)) {
      // Its clients are on other machines or in other containers, where no connector of this folder runs.
      say(describeLoop(info));
      return;
    }
    const secrets = readLocalSecrets(join(dataDir, 'connector-secrets.json'));
    const own = { port: ports.connector || DEFAULT_CONNECTOR_PORT, dataDir: join(dataDir, 'connector') };
    say(describePlatform(info, secrets, own));
  });
});
