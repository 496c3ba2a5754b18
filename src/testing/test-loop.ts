import { writeFile } from 'node:fs/promises';
import { type Client, createClient } from '../client/create-client.ts';
import { callPortAt } from '../commands/call-sandbox.ts';
import { startLoop } from '../commands/loop.ts';
import { runService } from '../commands/run-service.ts';
import type { ChangeHandlers } from '../connector/consumers/sinks/handler.ts';
import { CONNECTOR_ENDPOINTS } from '../contract/connector/endpoints.ts';
import { ADVANCE_FORMS, readAdvance } from '../contract/sandbox/advance.ts';
import type { AdvancedClock } from '../contract/sandbox/clock.ts';
import type { Waited, WaitRequest } from '../contract/sandbox/conditions.ts';
import { SANDBOX_ENDPOINTS } from '../contract/sandbox/endpoints.ts';
import type { SandboxInfo } from '../contract/sandbox/info.ts';
import type { Snapshot } from '../contract/sandbox/snapshots.ts';
import { SERVICE_ENDPOINTS } from '../contract/service/endpoints.ts';
import { systemClock } from '../runtime/clock/system-clock.ts';
import { openParts } from '../runtime/lifecycle/open-parts.ts';
import { record } from '../scenario/replay.ts';
import { writeScenario } from '../scenario/scenario.ts';
import { demandRealTimers } from './demand-real-timers.ts';
import { loopOptions } from './loop-options.ts';
import { createOwnDatabase } from './own-database.ts';
import { remindToClose } from './remind-to-close.ts';
import { openSharedServer } from './shared-server.ts';
import { waitUntil } from './wait-until.ts';
import { type WatchedHandlers, watchHandlers } from './watch-handlers.ts';

export interface TestLoopOptions {
  /** False starts only the service and its sandbox, for your own client of the service. Default: true. */
  readonly connector?: boolean;
  /** Your own code, which the connector calls with each change. */
  readonly handlers?: ChangeHandlers;
  /**
   * The Postgres server on which the loop creates its own database. Default: `DATABASE_URL` of the environment;
   * without it, an embedded server that all test processes of the project share.
   */
  readonly databaseUrl?: string;
  /** The folder of the embedded server. Default: `node_modules/.cache/messaging-connector` of the project. */
  readonly dataDir?: string;
}

const { streamEvents: _events, ...SANDBOX_CALLS } = SANDBOX_ENDPOINTS;

/** The entries of the list that a wait is about. */
type EntriesOf<List extends WaitRequest['list']> = Extract<Waited, { readonly list: List }>['entries'];

/** A running loop: phone network, service, sandbox and, by default, a connector. Nobody else uses it. */
export interface TestLoop {
  /** Addresses and credentials; a reset creates new ones. */
  info(): SandboxInfo;
  /** People, phones, time and faults. */
  readonly sandbox: Client<typeof SANDBOX_CALLS>;
  /** The service, with an API key of the workspace that it starts with. */
  readonly service: Client<typeof SERVICE_ENDPOINTS>;
  /** The connector's own API. Throws for a loop without a connector. */
  readonly connector: Client<typeof CONNECTOR_ENDPOINTS>;
  /** Advances virtual time by `500ms`, `30s`, `5m`, `2h` or `7d`, by milliseconds, or to a date-time. */
  advance(time: string | number): Promise<AdvancedClock>;
  /**
   * Waits until entries of a list match a filter, as `POST /sandbox/v1/wait` does, and resolves with them. Throws if
   * they do not in time, with what there is instead. What is in progress when the time is over may still end first, as
   * for `settle()`, within a minute.
   */
  waitFor<List extends WaitRequest['list']>(
    wanted: WaitRequest & { readonly list: List },
  ): Promise<EntriesOf<List>>;
  /**
   * Waits until `condition` returns something truthy, and resolves with it. It is evaluated after each event of the
   * sandbox, and ten times a second. Throws after `timeoutMs`, by default 5,000, and once what is in progress then has
   * ended, or a minute later.
   */
  waitFor<Value>(condition: () => Value | Promise<Value>, options?: { timeoutMs?: number }): Promise<Value>;
  /**
   * Resolves when nothing is in progress: deliveries with all their attempts, polls, sends, calls of your handler.
   * Retries of sends and of your handler wait for their time.
   */
  settle(): Promise<void>;
  /**
   * Starts over with the numbers and a new key that the sandbox begins with, without faults. Virtual time is kept.
   * Resolves once the connector knows the new connections.
   */
  reset(): Promise<void>;
  /**
   * Saves the state of the loop once nothing is in progress: all data of service and connector, virtual time, faults,
   * calls. It is kept until the loop is closed.
   */
  snapshot(): Promise<Snapshot>;
  /**
   * Returns to a snapshot, in a fraction of the time of a reset: ids, keys, virtual time and the connector's feed are as
   * they were. What is in progress is interrupted.
   */
  restore(snapshot: Pick<Snapshot, 'id'>): Promise<void>;
  /**
   * Writes what has come from outside since the last reset as a scenario, for `messaging-connector scenario replay`:
   * calls through `sandbox`, `service` and `connector`.
   */
  record(file: string): Promise<void>;
  /** Stops the loop and removes its database. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What is in progress when a wait is over has this long to end. */
const FINISH_MS = 60_000;

/** What a loop with a connector and one without have in common. */
interface StartedLoop {
  info(): SandboxInfo;
  settle(): Promise<void>;
  close(): Promise<void>;
}

async function startService(databaseUrl: string): Promise<StartedLoop> {
  const { platformDatabaseUrl, connectorDatabaseUrl: _, secrets: __, ...options } = loopOptions(databaseUrl);
  const service = await runService({ ...options, databaseUrl: platformDatabaseUrl });
  return { info: () => service.sandbox.info(), settle: () => service.settle(), close: () => service.close() };
}

/**
 * Starts a loop on free ports, with its own database. Throws if the server cannot be used; everything that was
 * started is closed again.
 */
export async function startTestLoop(options: TestLoopOptions = {}): Promise<TestLoop> {
  const { connector = true, handlers, databaseUrl = process.env['DATABASE_URL'], dataDir } = options;
  demandRealTimers();
  const watched = handlers && watchHandlers(handlers);
  return await openParts(async (opened) => {
    const server = await openSharedServer(databaseUrl, dataDir);
    opened.add(() => server.close());
    const schemas = connector ? (['connector', 'platform'] as const) : (['platform'] as const);
    const database = await createOwnDatabase(server.url, schemas).catch((cause: Error) => {
      if (!databaseUrl) throw cause;
      throw new Error(
        `A test loop creates its database on the server of DATABASE_URL, or of the option databaseUrl: ${cause.message}. Without both, it uses an embedded Postgres.`,
        { cause },
      );
    });
    opened.add(() => database.drop());
    const loop = connector
      ? await startLoop(loopOptions(database.url, { handlers: watched?.handlers }))
      : await startService(database.url);
    opened.add(() => loop.close());
    // The connector knows the connections once its first poll has ended.
    await loop.settle();
    return describeLoop(loop, watched, opened.close);
  });
}

function describeLoop(
  loop: StartedLoop,
  watched: WatchedHandlers | undefined,
  close: () => Promise<void>,
): TestLoop {
  const { sandboxUrl } = loop.info();
  const reminder = remindToClose(systemClock, (text) => void process.stderr.write(text));
  let isClosed = false;
  const use = (): void => {
    demandRealTimers();
    if (isClosed) throw new Error('This loop was closed.');
    reminder.used();
  };
  const at = (path: string): string => {
    use();
    return sandboxUrl + path;
  };
  const sandbox = createClient(SANDBOX_CALLS, () => at('/sandbox/v1'));
  const closeAll = async (): Promise<void> => {
    demandRealTimers();
    isClosed = true;
    reminder.cancel();
    await close();
  };

  /** After a timeout: a busy machine is slow, not wrong. A handler that never returns is not waited for. */
  const finish = async (): Promise<void> => {
    const late = Promise.withResolvers<void>();
    const cancel = systemClock.after(FINISH_MS, late.resolve);
    await Promise.race([loop.settle(), late.promise]).finally(cancel);
  };

  const waitForEntries = async (wanted: WaitRequest): Promise<Waited['entries']> => {
    let waited = await sandbox.wait({ body: wanted });
    if (!waited.holds && wanted.timeoutMs !== 0) {
      await finish();
      waited = await sandbox.wait({ body: { ...wanted, timeoutMs: 0 } });
    }
    if (!waited.holds) throw new Error(`${wanted.list} ${wanted.q ?? ''}: ${waited.explanation}`);
    return waited.entries;
  };

  return {
    info: loop.info,
    sandbox,
    // Through the port of the sandbox, which records the calls and adds the credentials.
    service: createClient(SERVICE_ENDPOINTS, () => at('/service')),
    connector: createClient(CONNECTOR_ENDPOINTS, () => {
      if (loop.info().connectorUrl === null) throw new Error('This loop was started without a connector.');
      return at('/connector');
    }),
    async advance(time) {
      const body = typeof time === 'number' ? { ms: time } : readAdvance(time);
      if (body === null) throw new Error(`"${time}" is not a time: ${ADVANCE_FORMS}.`);
      return await sandbox.advanceClock({ body });
    },
    waitFor: (async (wanted: WaitRequest | (() => unknown), { timeoutMs = 5_000 } = {}) => {
      try {
        if (typeof wanted !== 'function') return await waitForEntries(wanted);
        return await waitUntil(at('/sandbox/v1/events'), wanted, timeoutMs, finish);
      } catch (error) {
        throw watched?.explain(error) ?? error;
      }
    }) as TestLoop['waitFor'],
    async settle() {
      use();
      await loop.settle();
    },
    async reset() {
      await sandbox.reset();
      watched?.forget();
      await loop.settle();
    },
    snapshot: () => sandbox.takeSnapshot({ body: {} }),
    async restore({ id }) {
      await sandbox.restoreSnapshot({ params: { id } });
      watched?.forget();
    },
    async record(file) {
      const { scenario } = await record(callPortAt(at('')));
      await writeFile(file, writeScenario(scenario));
    },
    close: closeAll,
    [Symbol.asyncDispose]: closeAll,
  };
}
