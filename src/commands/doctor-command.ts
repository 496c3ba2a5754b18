import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DoctorSettings } from '../connector/doctor/check-input.ts';
import { examine } from '../connector/doctor/examine.ts';
import type { Report } from '../connector/doctor/finding.ts';
import { checkSettings } from './check-settings.ts';
import { packageVersion } from './command-line.ts';
import { findLoop, findStore, type RunningLoop } from './doctor-target.ts';
import { invoke } from './invocation.ts';
import { readLoopEnvironment } from './loop-environment.ts';
import { runCommand } from './run-command.ts';
import { countVerdicts, writeReports } from './write-reports.ts';

const EXIT = { well: 0, wrong: 1, couldNotCheck: 2 } as const;
const MIGRATIONS = join(fileURLToPath(new URL('../../drizzle/', import.meta.url)), 'connector');

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
      description:
        'folder of the data of npm start, or of the embedded Postgres of the connector (default .data)',
    },
    sandbox: {
      type: 'string',
      value: 'URL',
      description:
        'check the connector of the npm start whose sandbox has this address (default: the npm start that runs on the data folder, unless CONNECTOR_SEALING_KEYS is set)',
    },
  },
} as const;

await runCommand(COMMAND, async ({ options, env, clock, print }) => {
  try {
    const given = options['data-dir'];
    const dataDir = String(given ?? '.data');
    const hasLoop = existsSync(join(dataDir, 'secrets.json'));
    const named = options['sandbox'];
    if (named !== undefined && !hasLoop)
      throw new Error(`${dataDir} contains no data of npm start. Pass its folder as --data-dir.`);
    const running =
      named === undefined ? await findLoop(env, dataDir, clock) : await readLoop(String(named), dataDir);
    // Without its own key, no connector can run with these settings.
    const isOwn =
      named === undefined && Boolean(env['CONNECTOR_SEALING_KEYS'] || env['CONNECTOR_SEALING_KEYS_FILE']);
    const loop = isOwn ? null : running;
    const { settings: read, reports } = checkSettings(
      { ...env, ...loop?.environment },
      { isLoop: loop !== null, note: describeRunning(running, { isOwn, hasLoop }) },
    );
    const settings: DoctorSettings = { ...read, sandboxUrl: loop?.sandboxUrl };
    // The command that `npm run platform` prints keeps its data there.
    const folders = given === undefined && loop === null ? [dataDir, join(dataDir, 'connector')] : [dataDir];
    const store = await findStore(settings.databaseUrl, folders, clock);
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

async function readLoop(url: string, dataDir: string): Promise<RunningLoop> {
  const sandboxUrl = url.replace(/\/+$/, '');
  return { sandboxUrl, environment: await readLoopEnvironment(sandboxUrl, join(dataDir, 'secrets.json')) };
}

/** What a reader of the report should know about the `npm start` of this folder. */
function describeRunning(
  running: RunningLoop | null,
  { isOwn, hasLoop }: { readonly isOwn: boolean; readonly hasLoop: boolean },
): string | undefined {
  if (running === null)
    return hasLoop && !isOwn
      ? `npm start generates some of them in this folder, but does not run now, or its database does not answer. To check its connector, start it, or name it: ${invoke('doctor', '--sandbox URL')}`
      : undefined;
  return isOwn
    ? `npm start runs in this folder as well. To check its connector: ${invoke('doctor', `--sandbox ${running.sandboxUrl}`)}`
    : `They are those of the npm start at ${running.sandboxUrl}.`;
}

function verdictOf(problems: number, couldNotCheck: boolean): number {
  if (problems > 0) return EXIT.wrong;
  return couldNotCheck ? EXIT.couldNotCheck : EXIT.well;
}

/** Without a database, nearly every check is impossible. */
function lookedAnywhere(reports: readonly Report[]): boolean {
  return reports.some(({ check, verdict }) => check === 'database' && verdict !== 'not_checked');
}
