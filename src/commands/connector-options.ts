import { hostname } from 'node:os';
import { ConfigurationError, type ConfigurationProblem } from '../runtime/config/configuration-error.ts';
import { type Environment, readSettings } from '../runtime/config/read-settings.ts';
import type { Secret } from '../runtime/config/secret.ts';
import { isLoopbackHost } from '../runtime/http-server/loopback.ts';
import type { LogLevel } from '../runtime/logger/logger.ts';
import { equalSecrets } from '../runtime/sealing/equal-secrets.ts';
import { readMediaStore } from './media-options.ts';
import { readOauthApp } from './oauth-options.ts';
import type { RunConnectorOptions } from './run-connector.ts';
import { connectorSettings } from './settings.ts';

/** The settings of `npm run connector`. */
export type ConnectorOptions = Omit<
  RunConnectorOptions,
  'databaseUrl' | 'handlers' | 'clock' | 'logger' | 'onListening'
> & {
  readonly databaseUrl: Secret | undefined;
  /** The module with the handlers; undefined in role `web`, which calls none. */
  readonly handlersModule: string | undefined;
  readonly logLevel: LogLevel;
};

/**
 * Reads the connector's settings, and rejects combinations that cannot work.
 * @throws ConfigurationError naming each setting that is invalid or missing.
 */
export function connectorOptions(
  env: Environment,
  warn: (found: string, meant: string) => void,
): ConnectorOptions {
  const definition = connectorSettings(env);
  const settings = readSettings(definition, env, warn);
  const {
    CONNECTOR_API_TOKEN: token,
    CONNECTOR_API_TOKENS: tokens = [],
    CONNECTOR_ROLE: role,
    CONNECTOR_SEALING_KEYS: keys,
    SERVICE_BASE_URL: baseUrl,
    SERVICE_API_KEY: apiKey,
  } = settings;
  const problems: ConfigurationProblem[] = [];
  const missing = (setting: string, problem: string): void => {
    problems.push({ setting, problem });
  };
  // What is acknowledged would be in a folder of this machine, and nobody would notice a mistyped name.
  const isRehearsal = baseUrl !== undefined && isLoopbackHost(new URL(baseUrl).hostname);
  if (settings.DATABASE_URL === undefined && !isRehearsal) {
    missing(
      'DATABASE_URL',
      `is not set; set it to your Postgres, such as ${definition.DATABASE_URL.example}. Only if SERVICE_BASE_URL is on this machine, as in a rehearsal, is an embedded one used.`,
    );
  }
  // A worker serves only its metrics, no API.
  if (token === undefined && (role !== 'worker' || tokens.length === 0)) {
    missing(
      'CONNECTOR_API_TOKEN',
      `is not set; set it to a long random secret. ${definition.CONNECTOR_API_TOKEN.make}`,
    );
  }
  if (tokens.some((other) => equalSecrets(other.token.reveal(), token?.reveal() ?? ''))) {
    missing(
      'CONNECTOR_API_TOKENS',
      'contains the token of CONNECTOR_API_TOKEN, which has all rights; generate another one.',
    );
  }
  if (keys === undefined) {
    missing(
      'CONNECTOR_SEALING_KEYS',
      `is not set; set it to 32 random bytes as base64url. ${definition.CONNECTOR_SEALING_KEYS.make}`,
    );
  }
  const oauth = readOauthApp(settings);
  problems.push(...oauth.problems);
  const media = readMediaStore(settings);
  problems.push(...media.problems);
  const namesApp = oauth.app !== undefined || oauth.problems.length > 0;
  if (baseUrl !== undefined && apiKey === undefined && !namesApp) {
    missing(
      'SERVICE_API_KEY',
      'is not set, but SERVICE_BASE_URL is; without an OAuth app, both are needed to call the service.',
    );
  }
  if (baseUrl === undefined && apiKey !== undefined) {
    missing('SERVICE_BASE_URL', 'is not set, but SERVICE_API_KEY is; both are needed to call the service.');
  }
  if (settings.WEBHOOK_PUBLIC_URL !== undefined && baseUrl === undefined) {
    missing(
      'WEBHOOK_PUBLIC_URL',
      'has no effect without SERVICE_BASE_URL and a credential (SERVICE_API_KEY or an OAuth app); set them, or remove it.',
    );
  }
  if (keys === undefined || problems.length > 0) throw new ConfigurationError(problems);
  return {
    databaseUrl: settings.DATABASE_URL,
    logLevel: settings.LOG_LEVEL,
    redisUrl: settings.REDIS_URL?.reveal(),
    host: settings.CONNECTOR_HOST,
    port: settings.CONNECTOR_PORT,
    role,
    apiToken: token?.reveal(),
    apiTokens: tokens.map((named) => ({ ...named, token: named.token.reveal() })),
    sealingKeys: keys.map((key) => key.reveal()),
    service: baseUrl === undefined || apiKey === undefined ? undefined : { baseUrl, apiKey: apiKey.reveal() },
    serviceHosts: settings.CONNECTOR_SERVICE_HOSTS,
    oauth: oauth.app,
    webhookPublicUrl: settings.WEBHOOK_PUBLIC_URL,
    webhookSecret: settings.WEBHOOK_SECRET?.reveal(),
    reconcileIntervalMs: settings.RECONCILE_INTERVAL_MS,
    trustedProxies: settings.CONNECTOR_TRUSTED_PROXIES,
    inboxRetentionDays: settings.INBOX_RETENTION_DAYS,
    messageRetentionDays: settings.MESSAGE_RETENTION_DAYS,
    changeRetentionDays: settings.CHANGE_RETENTION_DAYS,
    historyDays: settings.HISTORY_DAYS,
    mediaStore: media.store,
    handlersModule: role === 'web' ? undefined : settings.CONNECTOR_HANDLERS,
  };
}

/** Identifies the log lines of a process without a supervisor: its role, its machine and its pid. */
export function nameProcess(role: ConnectorOptions['role']): string {
  return ['connector', ...(role === 'all' ? [] : [role]), hostname(), process.pid].join('-');
}
