import type { ChangeHandlers } from '../connector/consumers/sinks/handler.ts';
import { systemClock } from '../runtime/clock/system-clock.ts';
import { ConfigurationError } from '../runtime/config/configuration-error.ts';
import { readEnvironment } from '../runtime/config/read-environment.ts';
import type { Environment } from '../runtime/config/read-settings.ts';
import { describeTypo, type NearName } from '../runtime/config/similar-names.ts';
import { createLifecycle } from '../runtime/lifecycle/lifecycle.ts';
import { createLogger } from '../runtime/logger/logger.ts';
import { connectorOptions, nameProcess } from './connector-options.ts';
import { CONNECTOR_SHUTDOWN_MS } from './connector-shutdown.ts';
import { loadHandlers } from './load-handlers.ts';
import { runConnector } from './run-connector.ts';
import { openConnectorDatabase } from './server-database.ts';

/** The target of log lines, such as pino or `console`. Lines contain allow-listed fields and no secrets. */
export interface ConnectorLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface StartConnectorOptions {
  /**
   * The settings, by the names of `.env.example`. Default: the environment variables and, with lower
   * priority, the file `.env` in the working directory.
   */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /**
   * Called with each change, in the roles `all` and `worker`. Alternatively, `CONNECTOR_HANDLERS` names a
   * module.
   */
  readonly handlers?: ChangeHandlers | undefined;
  /** Default: JSON lines on standard output. `LOG_LEVEL` sets the level in either case. */
  readonly logger?: ConnectorLogger | undefined;
  /** Folder for the data of the embedded Postgres if `DATABASE_URL` is not set, as it may be with a service on this machine. Default `.data`. */
  readonly dataDir?: string | undefined;
}

/** A connector that runs inside this process. */
export interface StartedConnector {
  /** The address that it listens on: `/webhooks/messaging`, `/v1`, `/healthz`, `/readyz`, `/metrics`. */
  readonly url: string;
  /**
   * Answers open requests, finishes running work, and stops. Call it on SIGTERM. Further calls join the
   * first.
   */
  stop(): Promise<void>;
}

/**
 * Starts a connector inside this process, as the command `connector` does, and migrates its database to the
 * newest version. It handles no signals and never exits the process: that is left to the surrounding program.
 * @throws ConfigurationError naming every setting that is invalid or missing; otherwise the error that
 * prevented the start. What was opened is closed again.
 */
export async function startConnector(options: StartConnectorOptions = {}): Promise<StartedConnector> {
  const { dataDir = '.data' } = options;
  const env = options.env ?? readEnvironment(process.cwd(), process.env);
  const typos: NearName[] = [];
  const { databaseUrl, logLevel, handlersModule, ...settings } = connectorOptions(env, (found, meant) => {
    typos.push({ found, meant });
  });
  if (options.handlers !== undefined) refuseSecondHandlers(env);
  const handlers = options.handlers ?? (await loadHandlers(handlersModule, env));
  const clock = systemClock;
  const destination = options.logger === undefined ? 'stdout' : passOnTo(options.logger);
  const logger = createLogger({ level: logLevel, name: nameProcess(settings.role), destination });
  const lifecycle = createLifecycle({ logger, clock, deadlineMs: CONNECTOR_SHUTDOWN_MS });
  for (const typo of typos) logger.warn(describeTypo(typo));
  if (handlers !== undefined && settings.role === 'web') {
    logger.info(
      'the handlers are not called by this process: CONNECTOR_ROLE is web, so a worker must call them',
    );
  }
  try {
    const store = await openConnectorDatabase({ url: databaseUrl, dataDir, clock, logger });
    lifecycle.onClose('database server', () => store.close());
    const connector = await runConnector({ ...settings, handlers, databaseUrl: store.url, clock, logger });
    lifecycle.onClose('connector', () => connector.close());
    connector.untilReady().then(
      (isReady) => isReady && logger.info({ url: connector.url, role: settings.role }, 'connector ready'),
      (err: unknown) =>
        logger.error({ err }, 'the connector is not ready; correct the setting and start again'),
    );
    return { url: connector.url, stop: () => lifecycle.close() };
  } catch (error) {
    await lifecycle.close();
    throw error;
  }
}

/** Two sets of handlers would share the changes in an unintended way. */
function refuseSecondHandlers(env: Environment): void {
  if (!env['CONNECTOR_HANDLERS']) return;
  throw new ConfigurationError([
    {
      setting: 'CONNECTOR_HANDLERS',
      problem: 'names a module, but handlers were also passed in code; remove one of the two.',
    },
  ]);
}

const METHOD = {
  trace: 'debug',
  debug: 'debug',
  info: 'info',
  warn: 'warn',
  error: 'error',
  fatal: 'error',
} as const;

/** Parses the lines of our own logger, whose fields are allow-listed, for another logger. */
function passOnTo(logger: ConnectorLogger): { write(line: string): void } {
  return {
    write(line) {
      const { level, msg, time, ...fields } = JSON.parse(line) as {
        readonly level: keyof typeof METHOD;
        readonly msg?: string;
        readonly time: string;
      };
      logger[METHOD[level]](fields, msg ?? '');
    },
  };
}
