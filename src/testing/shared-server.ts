import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startFastPostgres } from './fast-postgres.ts';

/** How long an unused server is kept for the next test process. */
const IDLE_MS = 5_000;

/** A Postgres for the loops of tests. */
export interface SharedServer {
  readonly url: string;
  close(): Promise<void>;
}

const KEEPER_PREFIX = 'keeper ';

/** What a keeper of the server calls itself among its users. */
export const nameKeeper = (): string => `${KEEPER_PREFIX}${process.pid}`;

export const isKeeper = (user: string): boolean => user.startsWith(KEEPER_PREFIX);

const KEEPER = fileURLToPath(
  new URL(`./keep-server${import.meta.filename.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
);

/**
 * The cache of the project that the current folder is in, next to those of other tools; a folder of the user for
 * temporary files if there is no project.
 */
function cacheFolder(): string {
  for (let folder = process.cwd(); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'node_modules')))
      return join(folder, 'node_modules/.cache/messaging-connector');
    if (folder === dirname(folder)) return join(tmpdir(), `messaging-connector-${userInfo().username}`);
  }
}

/**
 * The server at `url`, or an embedded one that all test processes of the project share: its data stays in `dataDir`, and
 * it stops `idleMs` after the last of them has ended, however it ended. Throws `EmbeddedPostgresFailed`.
 */
export async function openSharedServer(
  url: string | undefined,
  dataDir?: string,
  idleMs: number = IDLE_MS,
): Promise<SharedServer> {
  if (url !== undefined && url !== '') return { url, close: () => Promise.resolve() };
  const folder = resolve(dataDir ?? cacheFolder());
  const server = await startFastPostgres(folder);
  if (!(await server.users()).some(isKeeper)) startKeeper(folder, idleMs);
  return { url: server.url, close: async () => void (await server.stop()) };
}

function startKeeper(folder: string, idleMs: number): void {
  // Not the options of the test runner, which may load its own modules.
  const { NODE_OPTIONS: _, ...env } = process.env;
  const keeper = spawn(process.execPath, [KEEPER, folder, String(idleMs)], {
    cwd: folder,
    detached: true,
    env,
    stdio: 'ignore',
    windowsHide: true,
  });
  // Without a keeper, the last process that leaves stops the server.
  keeper.on('error', () => undefined);
  keeper.unref();
}
