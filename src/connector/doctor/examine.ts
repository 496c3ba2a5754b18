import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { DatabaseUnavailable, QueryDeadlineExceeded } from '../../runtime/database/database.ts';
import { inspectMigrations } from '../../runtime/database/migrate.ts';
import { createTurns } from '../../runtime/turns/turns.ts';
import type { DoctorSettings, PublicReach } from './check-input.ts';
import { ACCOUNT_CHECKS, PLAIN_CHECKS, SERVICE_CHECKS, STORE_CHECKS, WORK_CHECKS } from './check-order.ts';
import { type AccountToExamine, listAccountsToExamine } from './examined-accounts.ts';
import { type Check, notChecked, ok, problem, type Report } from './finding.ts';
import { judgeMigrations } from './judge-migrations.ts';
import { runCheck, skipChecks } from './run-check.ts';
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
    const [row] = await database.query<{ version: string; name: string }>(
      `select current_setting('server_version') as version, current_database() as name`,
    );
    return ok(`Postgres ${row?.version.split(' ')[0]} answers, database ${row?.name}.`);
  },
};

const DATABASE_HANGS = problem('The database accepts connections, but does not answer.', {
  evidence: ['A simple query was not answered within 8 s.'],
  advice: [
    'Check its load, its disk and the network to it. A frozen server answers as soon as it continues.',
  ],
});

const ACCOUNTS_AT_ONCE = 8;

const SCHEMA_ID = { check: 'migrations', title: 'tables and migrations' } as const;
const NO_TABLES = 'The tables of this version do not exist.';

/**
 * Runs every check, and reports in the order of `check-order.ts`. Changes nothing, neither here nor at the
 * service. Never rejects.
 */
export async function examine(options: ExamineOptions): Promise<Report[]> {
  const { settings, clock } = options;
  const reports: Report[] = [];
  const reached = await reachDatabase(options);
  reports.push(...reached.reports);
  const { database } = reached;
  const why = database === null ? reached.why : '';
  const store = async (checks: typeof STORE_CHECKS): Promise<void> => {
    if (database === null) return void reports.push(...skipChecks(checks, why));
    for (const check of checks) {
      reports.push(...(await runCheck(check, (signal) => ({ settings, clock, signal, database }), clock)));
    }
  };
  await store(STORE_CHECKS);
  for (const check of PLAIN_CHECKS) {
    reports.push(...(await runCheck(check, (signal) => ({ settings, clock, signal }), clock)));
  }
  reports.push(...(await examineAccounts(options, database, why)));
  await store(WORK_CHECKS);
  return reports;
}

interface Reached {
  readonly database: Queryable | null;
  readonly why: string;
  readonly reports: readonly Report[];
}

/** The database, if it answers and has the tables of this version. */
async function reachDatabase({
  database,
  clock,
  whyNoDatabase,
  whichDatabase,
  migrations,
}: ExamineOptions): Promise<Reached> {
  const about = { check: DATABASE.id, title: DATABASE.title };
  const none = (why: string, reports: readonly Report[]): Reached => ({
    database: null,
    why,
    reports: [...reports, ...(reports.length === 1 ? [{ ...SCHEMA_ID, ...notChecked(why) }] : [])],
  });
  if (database === null)
    return none('There is no database to check.', [{ ...about, ...notChecked(whyNoDatabase ?? '') }]);
  const answered = (await runCheck(explained(DATABASE), () => database, clock)).map((report) => ({
    ...report,
    evidence: [...(whichDatabase === undefined ? [] : [whichDatabase]), ...report.evidence],
  }));
  if (answered.some(({ verdict }) => verdict !== 'ok'))
    return none('The database cannot be queried.', answered);
  const schema: Check<Database> = {
    id: SCHEMA_ID.check,
    title: SCHEMA_ID.title,
    run: async (db) =>
      judgeMigrations(await inspectMigrations(db, { folder: migrations, schema: 'connector' })),
  };
  const tables = await runCheck(schema, () => database, clock);
  const current = tables.every(({ verdict }) => verdict === 'ok');
  const reports = [...answered, ...tables];
  return current ? { database, why: '', reports } : none(NO_TABLES, reports);
}

/** Errors of failed connections contain the advice. */
function explained(check: Check<Database>): Check<Database> {
  return {
    ...check,
    run: async (database) => {
      try {
        return await check.run(database);
      } catch (error) {
        if (error instanceof QueryDeadlineExceeded) return DATABASE_HANGS;
        if (!(error instanceof DatabaseUnavailable)) throw error;
        const [, what = error.message, advice] = /^(.*?)[:;] (.*)$/.exec(error.message) ?? [];
        return problem(asSentence(what), {
          evidence: [`Reason: ${error.reason}${error.code === undefined ? '' : ` (${error.code})`}.`],
          advice: advice === undefined ? [] : [asSentence(advice)],
        });
      }
    },
  };
}

function asSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?]$/.test(text) ? '' : '.'}`;
}

async function examineAccounts(
  options: ExamineOptions,
  database: Queryable | null,
  why: string,
): Promise<Report[]> {
  const { settings } = options;
  let listed: Awaited<ReturnType<typeof listAccountsToExamine>>;
  try {
    listed = await listAccountsToExamine(settings, database, options.clock.now());
  } catch {
    return skipChecks([...SERVICE_CHECKS, ...ACCOUNT_CHECKS], 'The accounts could not be read.');
  }
  if (listed.accounts.length === 0) {
    return skipChecks([...SERVICE_CHECKS, ...ACCOUNT_CHECKS], 'There is no account.');
  }
  // Concurrently, because a service that hangs takes its time for each; the reports keep the order of the
  // accounts.
  const turns = createTurns(ACCOUNTS_AT_ONCE);
  const examined = listed.accounts.map((account) =>
    turns.run(async () => [
      ...(await examineService(options, account, database)),
      ...(await examineStored(options, account, database, why)),
    ]),
  );
  const reports = (await Promise.all(examined)).flat();
  if (listed.left > 0) {
    reports.push({
      check: 'service',
      title: 'the service answers',
      ...notChecked(`${listed.left} more accounts were not checked; GET /v1/sync shows them.`),
    });
  }
  return reports;
}

async function examineService(
  { settings, clock, reach = {} }: ExamineOptions,
  { account, apiKey, whyNone }: AccountToExamine,
  database: Queryable | null,
): Promise<Report[]> {
  if (apiKey === null || account.baseUrl === null) return skipChecks(SERVICE_CHECKS, whyNone, account.id);
  const service = createServiceCalls({ baseUrl: account.baseUrl, apiKey, clock });
  const reports: Report[] = [];
  for (const check of SERVICE_CHECKS) {
    const input = (signal: AbortSignal) => ({ settings, clock, signal, account, service, database, reach });
    reports.push(...(await runCheck(check, input, clock, account.id)));
    if (!reports.some(({ code }) => code === 'service_unusable')) continue;
    const rest = SERVICE_CHECKS.slice(1).filter(({ id }) => id !== 'webhook-address');
    reports.push(...skipChecks(rest, 'The service could not be queried.', account.id));
    const address = SERVICE_CHECKS.filter(({ id }) => id === 'webhook-address');
    for (const own of address) reports.push(...(await runCheck(own, input, clock, account.id)));
    break;
  }
  return reports;
}

async function examineStored(
  { settings, clock }: ExamineOptions,
  { account }: AccountToExamine,
  database: Queryable | null,
  why: string,
): Promise<Report[]> {
  if (database === null) return skipChecks(ACCOUNT_CHECKS, why, account.id);
  const reports: Report[] = [];
  for (const check of ACCOUNT_CHECKS) {
    const input = (signal: AbortSignal) => ({ settings, clock, signal, account, database });
    reports.push(...(await runCheck(check, input, clock, account.id)));
  }
  return reports;
}
