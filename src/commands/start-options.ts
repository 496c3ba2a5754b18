import { ConfigurationError } from '../runtime/config/configuration-error.ts';
import { type Environment, readSettings } from '../runtime/config/read-settings.ts';
import { leavesMachine } from '../runtime/database/database-url.ts';
import { allSettings } from './settings.ts';

const PLATFORM_SETTINGS = [
  'DATABASE_URL',
  'PLATFORM_DATABASE_URL',
  'PLATFORM_TRUSTED_PROXIES',
  'PLATFORM_TUNNEL_TARGETS',
  'WEBHOOK_SECRET',
  'LOG_LEVEL',
];
/** The settings that a command uses; it generates the others, or does without them. */
const USED = {
  platform: [...PLATFORM_SETTINGS, 'PLATFORM_HOST', 'PLATFORM_ALLOWED_HOSTS'],
  start: [
    ...PLATFORM_SETTINGS,
    'REDIS_URL',
    'RECONCILE_INTERVAL_MS',
    'HISTORY_DAYS',
    'MESSAGE_RETENTION_DAYS',
    'CHANGE_RETENTION_DAYS',
    'INBOX_RETENTION_DAYS',
    'CONNECTOR_HANDLERS',
  ],
};

/** A line that names the settings in the environment that the command does not use; empty if there are none. */
export function describeUnused(command: keyof typeof USED, env: Environment): string {
  const unused = Object.keys(allSettings(env)).filter(
    (name) => !USED[command].includes(name) && (env[name] || env[`${name}_FILE`]),
  );
  return unused.length === 0 ? '' : `settings    not used by this command: ${unused.join(', ')}\n`;
}

export type StartOptions = ReturnType<typeof startOptions>;

/**
 * Reads the settings of `npm start` and `npm run platform`. Without `LOG_LEVEL` only warnings are logged, because a
 * person reads this output.
 * @throws ConfigurationError for an invalid setting, and for a database on another machine that was not explicitly
 * configured for the simulator.
 */
export function startOptions(env: Environment, warn: (found: string, meant: string) => void) {
  const settings = readSettings(allSettings(env), env, warn);
  const { DATABASE_URL: databaseUrl, PLATFORM_DATABASE_URL: platformDatabaseUrl } = settings;
  if (databaseUrl !== undefined && platformDatabaseUrl === undefined && leavesMachine(databaseUrl.reveal())) {
    throw new ConfigurationError([
      {
        setting: 'DATABASE_URL',
        problem:
          'names a Postgres on another machine, and a simulator must not use a production database. ' +
          'Unset it, or set PLATFORM_DATABASE_URL to the database for the simulated service.',
      },
    ]);
  }
  return {
    databaseUrl,
    platformDatabaseUrl,
    /** Only for `npm run platform`, as the next one. */
    host: settings.PLATFORM_HOST,
    /** Names in `Host` that are accepted besides those of this machine. */
    allowedHosts: settings.PLATFORM_ALLOWED_HOSTS ?? [],
    trustedProxies: settings.PLATFORM_TRUSTED_PROXIES,
    /** In addition to this machine. */
    tunnelTargets: settings.PLATFORM_TUNNEL_TARGETS,
    redisUrl: settings.REDIS_URL?.reveal(),
    webhookSecret: settings.WEBHOOK_SECRET?.reveal(),
    reconcileIntervalMs: settings.RECONCILE_INTERVAL_MS,
    inboxRetentionDays: settings.INBOX_RETENTION_DAYS,
    messageRetentionDays: settings.MESSAGE_RETENTION_DAYS,
    changeRetentionDays: settings.CHANGE_RETENTION_DAYS,
    historyDays: settings.HISTORY_DAYS,
    handlersModule: settings.CONNECTOR_HANDLERS,
    logLevel: env['LOG_LEVEL'] ? settings.LOG_LEVEL : ('warn' as const),
  };
}
