import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DoctorSettings } from '../connector/doctor/check-input.ts';
import { type ExamineOptions, examine } from '../connector/doctor/examine.ts';
import type { Report } from '../connector/doctor/finding.ts';
import type { Clock } from '../runtime/clock/clock.ts';
import { type Database, openDatabase } from '../runtime/database/database.ts';
import { findEmbeddedPostgres } from '../runtime/database/embedded/find-running.ts';
import { createLogger } from '../runtime/logger/logger.ts';
import { checkSettings } from './check-settings.ts';
import { packageVersion } from './command-line.ts';
import { readLoopEnvironment } from './loop-environment.ts';
import { runCommand } from './run-command.ts';
import { countVerdicts, writeReports } from './write-reports.ts';

const EXIT = { well: 0, wrong: 1, couldNotCheck: 2 } as const;
const MIGRATIONS = join(fileURLToPath(new URL('../../drizzle/', import.meta.url)), 'connector');
const POOL_SIZE = 2;
const QUERY_MS = 8_000;

const COMMAND = {
  name: 'doctor',
  summary:
    'checks the settings, the database, Redis, the service and the running connector, and names each problem and its fix. ' +
    'Changes nothing. Exits with 0 if there is no problem, 1 if there is one, and 2 if it could not run.',
  options: {
    json: { type: 'boolean', description: 'print one JSON line, {"well", "counts", "reports"}' },
    'data-dir': {
      type: 'string',
      value: 'DIR',
      description: 'folder for the data of the embedded Postgres (default .data)',
    },
    sandbox: {
      type: 'string',
      value: 'URL',
      description:
        'check the connector of the npm start whose sandbox has this address, for example http://127.0.0.1:4000',
    },
  },
} as const;

await runCommand(COMMAND, async ({ options, env, clock, print }) => {
  try {
    const dataDir = String(options['data-dir'] ?? '.data');
    const secretsFile = join(dataDir, 'secrets.json');
    const hasLoop = existsSync(secretsFile);
    const sandbox = options['sandbox'];
    if (sandbox !== undefined && !hasLoop)
      throw new Error(`${dataDir} contains no data of npm start. Pass its folder as --data-dir.`);
    const made = sandbox === undefined ? {} : await readLoopEnvironment(String(sandbox), secretsFile);
    const { settings: read, reports } = checkSettings({ ...env, ...made }, hasLoop && sandbox === undefined);
    const settings: DoctorSettings = {
      ...read,
      sandboxUrl: sandbox === undefined ? undefined : String(sandbox).replace(/\/+$/, ''),
    };
    const store = await findStore(settings, dataDir, clock);
    const found = await examine({ ...store, settings, clock, migrations: MIGRATIONS });
    await store.database?.close();
    const all = [...reports, ...found];
    const counts = countVerdicts(all);
    const broken = all.some((report) => report.broken === true);
    if (options['json']) {
      const at = new Date(clock.now()).toISOString();
      print(
        `${JSON.stringify({ well: counts.problem === 0 && !broken, version: packageVersion(), at, counts, reports: all })}\n`,
      );
    } else print(writeReports(all));
    process.exitCode = verdictOf(counts.problem, broken || !lookedAnywhere(all));
  } catch (error) {
    process.stderr.write(
      `The doctor could not run: ${error instanceof Error ? error.message : String(error)}\n`,
    );
    process.exitCode = EXIT.couldNotCheck;
  }
});

function verdictOf(problems: number, couldNotCheck: boolean): number {
  if (problems > 0) return EXIT.wrong;
  return couldNotCheck ? EXIT.couldNotCheck : EXIT.well;
}

/** Without a database, nearly every check is impossible. */
function lookedAnywhere(reports: readonly Report[]): boolean {
  return reports.some(({ check, verdict }) => check === 'database' && verdict !== 'not_checked');
}

type Store = Pick<ExamineOptions, 'whyNoDatabase'> & { readonly database: Database | null };

/** The database of the settings, or the embedded one if it is running. Starts nothing. */
async function findStore(settings: DoctorSettings, dataDir: string, clock: Clock): Promise<Store> {
  if (settings.databaseUrl !== undefined) return { database: open(settings.databaseUrl, clock) };
  const found = await findEmbeddedPostgres(dataDir);
  switch (found.kind) {
    case 'running':
      return { database: open(found.url, clock) };
    case 'stopped':
      return {
        database: null,
        whyNoDatabase: `DATABASE_URL is not set, and the Postgres in ${found.location} is not running, so no process of the connector is running either. Start the connector and run the doctor again.`,
      };
    case 'absent':
      return {
        database: null,
        whyNoDatabase: `DATABASE_URL is not set, and there is no data in ${dataDir}. Run the doctor where the connector runs, with its .env.`,
      };
  }
}

function open(url: string, clock: Clock): Database {
  return openDatabase({
    url,
    name: 'connector-doctor',
    poolSize: POOL_SIZE,
    deadlineMs: QUERY_MS,
    clock,
    logger: createLogger({ level: 'silent', name: 'doctor' }),
  });
}
