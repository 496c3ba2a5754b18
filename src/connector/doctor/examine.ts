import type { FindingList } from '../../contract/connector/findings.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { DatabaseUnavailable, QueryDeadlineExceeded } from '../../runtime/database/database.ts';
import { inspectMigrations } from '../../runtime/database/migrate.ts';
import { createTurns } from '../../runtime/turns/turns.ts';
import type { DoctorSettings, PublicReach } from './check-input.ts';
import { ACCOUNT_CHECKS, PLAIN_CHECKS, SERVICE_CHECKS, STORE_CHECKS, WORK_CHECKS } from './check-order.ts';
import { serviceCheck } from './checks/service.ts';
import { snapshotsCheck } from './checks/snapshots.ts';
import { webhookAddressCheck } from './checks/webhook-address.ts';
import { type AccountToExamine, listAccountsToExamine } from './examined-accounts.ts';
import { figureCheck } from './figure-check.ts';
import { type Check, type Finding, ok, problem, type Report, warning } from './finding.ts';
import { judgeMigrations } from './judge-migrations.ts';
import { runChecks } from './run-check.ts';
import { createServiceCalls } from './service-calls.ts';

export interface ExamineOptions {
  readonly settings: DoctorSettings;
  readonly clock: Clock;
  /** An unused pool; null if there is none, for the reason in `whyNoDatabase`. */
  readonly database: Database | null;
  readonly whyNoDatabase?: string;
  /** What names the database, in a sentence. */
  readonly whichDatabase?: string;
  /** Folder of the connector's migrations. */
  readonly migrations: string;
  readonly reach?: PublicReach;
}

const DATABASE: Check<Database> = {
  id: 'database',
  title: 'the database answers',
  async run(database) {
    try {
      const [row] = await database.query<{
        version: string;
        name: string;
        built: string | null;
        sorts: string;
      }>(
        `select current_setting('server_version') as version, datname as name, datcollversion as built,
                coalesce(pg_database_collation_actual_version(oid), 'unknown') as sorts
           from pg_database where datname = current_database()`,
      );
      const { version = '', name = '', built = null, sorts = '' } = row ?? {};
      const says = `Postgres ${version.split(' ')[0]} answers, database ${name}.`;
      return built === null || built === sorts ? ok(says) : sortsOtherwise(says, name, built, sorts);
    } catch (error) {
      return explainFailure(error);
    }
  },
};

/** The operating system was updated under the indexes. They may miss a row, and then it is written a second time. */
const sortsOtherwise = (says: string, name: string, built: string, sorts: string): Finding =>
  warning('The order of texts may have changed since the indexes were built, so they may miss rows.', {
    evidence: [says, `The database was created with version ${built} of its collation, and uses ${sorts}.`],
    advice: [
      `Run: reindex database concurrently "${name}"`,
      `Then: alter database "${name}" refresh collation version`,
    ],
  });

const DATABASE_HANGS = problem('The database accepts connections, but does not answer.', {
  evidence: ['A simple query was not answered within 8 s.'],
  advice: [
    'Check its load, its disk and the network to it. A frozen server answers as soon as it continues.',
  ],
});

const ACCOUNTS_AT_ONCE = 8;

/**
 * Runs every check, and reports in the order of `check-order.ts`. Changes nothing, neither here nor at the
 * service. Never rejects.
 */
export async function examine(options: ExamineOptions): Promise<Report[]> {
  const { settings, clock } = options;
  const { database, why, reports } = await reachDatabase(options);
  const stored = database === null ? why : (signal: AbortSignal) => ({ settings, clock, signal, database });
  return [
    ...reports,
    ...(await runChecks(STORE_CHECKS, stored, clock)),
    ...(await runChecks(PLAIN_CHECKS, (signal) => ({ settings, clock, signal }), clock)),
    ...(await examineAccounts(options, database, why)),
    ...(await runChecks(WORK_CHECKS, stored, clock)),
  ];
}

/** The database, if it answers and has the tables of this version; otherwise why it cannot be checked. */
async function reachDatabase({ database, clock, migrations, ...which }: ExamineOptions): Promise<{
  readonly database: Queryable | null;
  readonly why: string;
  readonly reports: readonly Report[];
}> {
  const isWell = (reports: readonly Report[]) =>
    reports.every(({ verdict }) => verdict === 'ok' || verdict === 'warning');
  const answered = await runChecks(
    [DATABASE],
    database ? () => database : (which.whyNoDatabase ?? ''),
    clock,
  );
  const named = answered.map((report) => ({
    ...report,
    evidence: [...(which.whichDatabase === undefined ? [] : [which.whichDatabase]), ...report.evidence],
  }));
  const none = database === null ? 'There is no database to check.' : 'The database cannot be queried.';
  const queried = isWell(answered) ? database : null;
  const schema: Check<Database> = {
    id: 'migrations',
    title: 'tables and migrations',
    run: async (db) =>
      judgeMigrations(await inspectMigrations(db, { folder: migrations, schema: 'connector' })),
  };
  const tables = await runChecks([schema], queried ? () => queried : none, clock);
  const why = queried === null ? none : 'The tables of this version do not exist.';
  return { database: isWell(tables) ? queried : null, why, reports: [...named, ...tables] };
}

function explainFailure(error: unknown): Finding {
  if (error instanceof QueryDeadlineExceeded) return DATABASE_HANGS;
  if (!(error instanceof DatabaseUnavailable)) throw error;
  const { reason, code, says, advice } = error;
  return problem(asSentence(says), {
    evidence: [`Reason: ${reason}${code === undefined ? '' : ` (${code})`}.`],
    advice: advice === undefined ? [] : [asSentence(advice)],
  });
}

function asSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?]$/.test(text) ? '' : '.'}`;
}

/**
 * The checks that need nothing but the database, for `GET /v1/doctor`: those of the settings, the network and the
 * service need the command. Rejects only if the accounts cannot be read.
 */
export async function examineStored(
  database: Queryable,
  clock: Clock,
  known: Pick<DoctorSettings, 'reconcileIntervalMs' | 'inboxRetentionDays' | 'webhookPublicUrl'>,
): Promise<FindingList> {
  const { reconcileIntervalMs, inboxRetentionDays, webhookPublicUrl } = known;
  const periods = { reconcileIntervalMs, inboxRetentionDays };
  const settings = { ...periods, webhookPublicUrl, host: '', port: 0, sealingKeys: [] };
  const given = (signal: AbortSignal) => ({ settings, clock, signal, database });
  const at = toIso(clock.now());
  const reports = await runChecks([figureCheck('connections'), snapshotsCheck], given, clock);
  const { accounts } = await listAccountsToExamine(settings, database, clock.now());
  for (const { account } of accounts) {
    const ofAccount = (signal: AbortSignal) => ({ ...given(signal), account });
    reports.push(...(await runChecks(ACCOUNT_CHECKS, ofAccount, clock, account.id)));
  }
  reports.push(...(await runChecks(WORK_CHECKS, given, clock)));
  const findings = reports.map(({ accountId = null, code = null, broken: _, ...report }) => ({
    ...report,
    accountId,
    code,
    evidence: [...report.evidence],
    advice: [...report.advice],
  }));
  return { at, findings };
}

async function examineAccounts(
  options: ExamineOptions,
  database: Queryable | null,
  why: string,
): Promise<Report[]> {
  const { settings, clock, reach = {} } = options;
  const none = async (reason: string) => [
    ...(await runChecks([serviceCheck, ...SERVICE_CHECKS], reason, clock)),
    ...(await runChecks(ACCOUNT_CHECKS, reason, clock)),
  ];
  const listed = await listAccountsToExamine(settings, database, clock.now()).catch(() => null);
  if (listed === null) return await none('The accounts could not be read.');
  if (listed.accounts.length === 0) return await none('There is no account.');

  async function examineAccount({ account, apiKey, whyNone }: AccountToExamine): Promise<Report[]> {
    const { id, baseUrl } = account;
    const input = { settings, clock, account };
    const calls = apiKey === null || baseUrl === null ? null : createServiceCalls({ baseUrl, apiKey, clock });
    const asking = calls
      ? (signal: AbortSignal) => ({ ...input, signal, service: calls, database, reach })
      : whyNone;
    const reports = await runChecks([serviceCheck], asking, clock, id);
    const isUnusable = reports.some(({ code }) => code === 'service_unusable');
    for (const check of SERVICE_CHECKS) {
      // The address of the webhook is asked, not the service.
      const given =
        isUnusable && check !== webhookAddressCheck ? 'The service could not be queried.' : asking;
      reports.push(...(await runChecks([check], given, clock, id)));
    }
    const stored = database ? (signal: AbortSignal) => ({ ...input, signal, database }) : why;
    return [...reports, ...(await runChecks(ACCOUNT_CHECKS, stored, clock, id))];
  }

  // Concurrently, because a service that hangs takes its time for each; the reports keep the order of the
  // accounts.
  const turns = createTurns(ACCOUNTS_AT_ONCE);
  const examined = listed.accounts.map((account) => turns.run(() => examineAccount(account)));
  const reports = (await Promise.all(examined)).flat();
  const left = `${listed.left} more accounts were not checked; GET /v1/sync shows them.`;
  return listed.left === 0 ? reports : [...reports, ...(await runChecks([serviceCheck], left, clock))];
}
