import { existsSync, readdirSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import type { Binaries } from '../../src/runtime/database/embedded/programs.ts';
import { startEmbeddedPostgres } from '../../src/runtime/database/embedded.ts';
import { createLogger } from '../../src/runtime/logger/logger.ts';

/** Where Debian and Ubuntu install the versions of Postgres. */
const VERSIONS = '/usr/lib/postgresql';

/** The newest Postgres of this machine's distribution, or undefined. */
export const INSTALLED_POSTGRES: Binaries | undefined = (existsSync(VERSIONS) ? readdirSync(VERSIONS) : [])
  .filter((version) => Number(version) >= 15 && existsSync(join(VERSIONS, version, 'bin/postgres')))
  .sort((a, b) => Number(b) - Number(a))
  .map((version) => ({ directory: join(VERSIONS, version), version }))[0];

/** Why the tests on a distribution's Postgres cannot run here, or undefined if they can. */
export const INSTALLED_POSTGRES_MISSING: string | undefined =
  INSTALLED_POSTGRES === undefined ? `there is no Postgres in ${VERSIONS}` : undefined;

/** The newest Postgres of this machine's distribution. Throws if there is none. */
export function requireInstalledPostgres(): Binaries {
  if (INSTALLED_POSTGRES !== undefined) return INSTALLED_POSTGRES;
  throw new Error(`${INSTALLED_POSTGRES_MISSING}; install it (Debian, Ubuntu: apt-get install postgresql)`);
}

/** Prefix of the folders of such servers. */
export const OWN_POSTGRES_PREFIX = 'own-postgres-';

/** The server of one test. */
export interface OwnPostgres {
  readonly url: string;
  /** Folder that holds the data, which the server's account can write to. */
  readonly location: string;
  /** Sends a signal to each process of the server. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a server with default settings except for `settings`. `binaries`: by default the distribution's, else those
 * from npm. `parent` holds the folder of its data.
 */
export async function startOwnPostgres(
  options: {
    readonly settings?: Readonly<Record<string, string>>;
    readonly binaries?: Binaries;
    readonly parent?: string;
  } = {},
): Promise<OwnPostgres> {
  const { settings = {}, binaries = INSTALLED_POSTGRES, parent = tmpdir() } = options;
  const dataDir = await mkdtemp(join(parent, OWN_POSTGRES_PREFIX));
  // As root the server runs as another user, who must be able to enter the folder.
  await chmod(dataDir, 0o755);
  const server = await startEmbeddedPostgres({
    dataDir,
    settings,
    clock: systemClock,
    logger: createLogger({ level: 'warn', name: 'test', destination: 'stderr' }),
    ...(binaries === undefined ? {} : { binaries }),
  });
  const signal: OwnPostgres['signal'] = async (name) => {
    const text = await readFile(join(server.location, 'cluster', 'postmaster.pid'), 'utf8');
    const postmaster = Number.parseInt(text, 10);
    for (const pid of [postmaster, ...(await listChildren(postmaster))]) sendSignal(pid, name);
  };
  return {
    url: server.url,
    location: server.location,
    signal,
    async stop() {
      await server.stop();
      await rm(server.location, { recursive: true, force: true });
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** An ended process needs no signal. */
function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

async function listChildren(parent: number): Promise<number[]> {
  const text = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}
