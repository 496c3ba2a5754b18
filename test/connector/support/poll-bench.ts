import { FIRST_ACCOUNT_ID } from '../../../src/connector/accounts/account-store.ts';
import type { FirstAccountOptions } from '../../../src/connector/accounts/first-account.ts';
import { POLL } from '../../../src/connector/accounts/poll-state.ts';
import { clearTables, TABLES_OF_PROCESSES } from '../../../src/connector/db/clear-tables.ts';
import {
  type AccountPollerOptions,
  type PollOutcome,
  type PollRequest,
  pollAccount,
} from '../../../src/connector/reconcile/account-poller.ts';
import { createPollMetrics } from '../../../src/connector/reconcile/poll-metrics.ts';
import { createPollMemory } from '../../../src/connector/reconcile/quiet-polls.ts';
import { createPresence, type Presence } from '../../../src/connector/work/presence.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { createMetrics } from '../../../src/runtime/metrics/metrics.ts';
import { createKeyRing, generateSealingKey } from '../../../src/runtime/sealing/key-ring.ts';
import { createTurns } from '../../../src/runtime/turns/turns.ts';
import type { OpenedDatabase } from '../../support/database.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { ofFile, ofTest } from '../../support/of-file.ts';
import { configureAccount } from './configure-account.ts';
import { openConnectorDatabase, silentLogger } from './event-fixtures.ts';
import { ScriptedService } from './scripted-service.ts';

export const ACCOUNT = FIRST_ACCOUNT_ID;

export type PollBench = Awaited<ReturnType<typeof openPollBench>>;

/** A bench for each test of a file. They share a database, which each finds empty. */
export function pollBenchOfTest(): PollBench {
  const { openBench } = pollBenchesOfFile();
  return ofTest(openBench);
}

/** Opens benches on one database of the file. Each finds it empty. */
export function pollBenchesOfFile(): { openBench(): Promise<PollBench> } {
  const shared = ofFile(() => openConnectorDatabase());
  return {
    openBench: () =>
      openPollBench({ url: shared.url, database: shared.database, close: () => clearAll(shared.database) }),
  };
}

async function clearAll(database: Database): Promise<void> {
  for (const table of TABLES_OF_PROCESSES) await database.query(`delete from connector.${table}`);
  await clearTables(database);
}

/**
 * Opens a database, a service and a clock of one test's own, with an account that polls the service. `opened`: a database
 * that benches share.
 */
export async function openPollBench(opened?: OpenedDatabase) {
  const { url, database, close } = opened ?? (await openConnectorDatabase());
  const logger = silentLogger;
  const service = await ScriptedService.start();
  const clock = new ManualClock();
  const sealingKey = generateSealingKey();
  const keyRing = createKeyRing([sealingKey]);
  const metrics = createMetrics();
  /** The life of another process than the one that polls. */
  const anotherProcess = async (reached = database): Promise<Presence> => {
    const presence = createPresence({ database: reached, clock, logger, works: true });
    await presence.start();
    processes.push(presence);
    return presence;
  };
  const processes: Presence[] = [];
  const presence = await anotherProcess();
  const poller: AccountPollerOptions = {
    database,
    clock,
    logger,
    keyRing,
    metrics: createPollMetrics(metrics),
    presence,
    random: () => 0,
    mayUse: () => true,
    onCommitted: () => undefined,
    onServiceBack: () => undefined,
  };
  const configure = (options: Partial<FirstAccountOptions> = {}) =>
    configureAccount({
      database,
      keyRing,
      clock,
      service: { baseUrl: service.baseUrl, apiKey: 'key-1' },
      ...options,
    });
  await configure();
  return {
    databaseUrl: url,
    ...{ database, service, clock, sealingKey, keyRing, metrics, poller, configure, anotherProcess },
    /** Polls once, as the period does, unless told otherwise. */
    poll: async (
      request: Partial<PollRequest> = {},
      other: Partial<AccountPollerOptions> = {},
    ): Promise<PollOutcome> => {
      const options = { ...poller, ...other };
      const held = await options.presence.hold(`${POLL}:${ACCOUNT}`, (lease, signal) =>
        pollAccount(
          options,
          {
            accountId: ACCOUNT,
            budget: { coverage: 40, visibility: 20, sweep: 40 },
            longWalks: createTurns(8),
            memory: createPollMemory(),
            onDemand: false,
            signal,
            ...request,
          },
          lease,
        ),
      );
      return held.held ? held.value : { kind: 'busy' };
    },
    /** Ids of all stored messages, in order. */
    storedIds: async () => {
      const rows = await database.query<{ id: string }>('select id from connector.messages order by id');
      return rows.map((row) => row.id);
    },
    /** A process is taken for dead. */
    bury: async ({ id }: Presence) => {
      await database.query('delete from connector.processes where id = $1', [id]);
    },
    close: async () => {
      await Promise.all(processes.map((each) => each.stop()));
      await service.close();
      await close();
    },
  };
}
