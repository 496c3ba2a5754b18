import { replay } from '../connector/replay/replay.ts';
import { readSettings } from '../runtime/config/read-settings.ts';
import { openDatabase } from '../runtime/database/database.ts';
import { findEmbeddedPostgres } from '../runtime/database/embedded/find-running.ts';
import { createLogger } from '../runtime/logger/logger.ts';
import { createReplayReport } from './replay-report.ts';
import type { CommandContext } from './run-command.ts';
import { openServerDatabase } from './server-database.ts';
import { connectorSettings } from './settings.ts';

const EXIT = { same: 0, different: 1 } as const;
/** A statement reads or merges eight megabytes of the inbox. */
const QUERY_MS = 60_000;
const POOL_SIZE = 3;

/**
 * Runs a replay on the database of the settings and prints its report. Resolves with the exit code: 0 if nothing
 * differs, or everything was repaired, 1 if something differs. Throws if the replay could not finish.
 */
export async function runReplay(
  { options, env, clock, print, warnOfTypo }: CommandContext,
  { show, signal }: { readonly show: number; readonly signal: AbortSignal },
): Promise<number> {
  const { DATABASE_URL } = connectorSettings(env);
  const settings = readSettings({ DATABASE_URL }, env, warnOfTypo);
  const logger = createLogger({ level: 'warn', name: 'replay', destination: 'stderr' });
  const dataDir = String(options['data-dir'] ?? '.data');
  if (settings.DATABASE_URL === undefined && (await findEmbeddedPostgres(dataDir)).kind === 'absent')
    throw new Error(
      `DATABASE_URL is not set, and there is no data in ${dataDir}. Run it where the connector runs, with its .env, or pass its --data-dir.`,
    );
  const store = await openServerDatabase({ url: settings.DATABASE_URL, dataDir, clock, logger });
  const pool = { name: 'connector-replay', poolSize: POOL_SIZE, deadlineMs: QUERY_MS };
  const database = openDatabase({ url: store.url, ...pool, clock, logger });
  const apply = options['apply'] === true;
  const report = createReplayReport({
    json: options['json'] === true,
    show,
    apply,
    clock,
    print,
    printProgress: (line) => void process.stderr.write(line),
  });
  try {
    const [tables] = await database.query<{ found: boolean }>(
      `select to_regclass('connector.inbox') is not null as found`,
    );
    if (tables?.found !== true)
      throw new Error('the database does not contain the tables of the connector. Check DATABASE_URL.');
    const { difference: onDifference, progress: onProgress } = report;
    const summary = await replay({ database, clock, apply, signal, onDifference, onProgress });
    report.end(summary);
    return summary.different > summary.applied ? EXIT.different : EXIT.same;
  } finally {
    await database.close();
    await store.close();
  }
}
