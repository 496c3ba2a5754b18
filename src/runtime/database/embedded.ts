import { chmod, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../logger/logger.ts';
import { ensureCluster } from './embedded/cluster.ts';
import { EmbeddedPostgresFailed } from './embedded/embedded-postgres-error.ts';
import { type Binaries, locateBinaries } from './embedded/locate-binaries.ts';
import { countMembers, joinMembers, leaveMembers } from './embedded/members.ts';
import { place } from './embedded/placement.ts';
import { findServer, type ServerOptions, startServer, stopServer } from './embedded/server.ts';
import { withStartLock } from './embedded/start-lock.ts';

export { EmbeddedPostgresFailed };

export interface EmbeddedOptions {
  /** The data is kept in its subfolder `postgres` (possibly elsewhere as root, see `location`). */
  readonly dataDir: string;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Server settings for this start, for example `{ fsync: 'off' }` in tests. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Default: the programs that npm installed. */
  readonly binaries?: Binaries;
}

export interface EmbeddedPostgres {
  readonly url: string;
  /** Folder that contains the data. */
  readonly location: string;
  /** True if the server was already running. */
  readonly joined: boolean;
  /** A note for the user, such as the location of data kept elsewhere. */
  readonly note?: string;
  /** How many users it has, this one included: processes, and starts in the same process. */
  users(): Promise<number>;
  /** Leaves; the last process to leave stops the server. Safe to call twice. */
  stop(): Promise<void>;
}

const LOCK_DEADLINE_MS = 90_000;

/**
 * Starts the Postgres of an npm package, or joins the one that another process started in the same folder.
 * The server runs detached: neither Ctrl-C nor a crash of our process stops it, and the next start joins it
 * again. Throws `EmbeddedPostgresFailed` with what to do.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const installed = options.binaries ?? (await locateBinaries());
  const home = await makeHome(resolve(options.dataDir));
  return await withStartLock(home, { clock: options.clock, deadlineMs: LOCK_DEADLINE_MS }, () =>
    enter(home, installed, options),
  );
}

/** The folder of our control files. Other users may traverse it to reach their own data, but not list it. */
async function makeHome(dataDir: string): Promise<string> {
  const home = join(dataDir, 'postgres');
  try {
    const made = await mkdir(dataDir, { recursive: true });
    if (made !== undefined) await chmod(dataDir, 0o755);
    await mkdir(home, { recursive: true });
    await chmod(home, 0o711);
    return home;
  } catch (error) {
    throw new EmbeddedPostgresFailed(
      `${home} cannot be created or does not belong to this user; check who owns ${dataDir}`,
      error,
    );
  }
}

async function enter(home: string, installed: Binaries, options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { clock, logger, settings = {} } = options;
  const placement = await place(home, installed);
  const password = await ensureCluster(placement, home, settings['fsync'] !== 'off');
  const serverOptions: ServerOptions = { home, placement, settings, clock };
  const found = await findServer(serverOptions);
  const server = found ?? (await startServer(serverOptions));
  const members = join(home, 'members');
  const member = await joinMembers(members);
  const joined = found !== undefined;
  logger.info({ joined, location: placement.storage, port: server.port }, 'embedded Postgres ready');
  let stopping: Promise<void> | undefined;
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${server.port}/postgres`,
    location: placement.storage,
    joined,
    ...(placement.note === undefined ? {} : { note: placement.note }),
    users: () => withStartLock(home, { clock, deadlineMs: LOCK_DEADLINE_MS }, () => countMembers(members)),
    stop: () => {
      stopping ??= leave(member, serverOptions, logger);
      return stopping;
    },
  };
}

async function leave(member: string, server: ServerOptions, logger: Logger): Promise<void> {
  const { home, clock } = server;
  await withStartLock(home, { clock, deadlineMs: LOCK_DEADLINE_MS }, async () => {
    if ((await leaveMembers(join(home, 'members'), member)) > 0) return;
    // The server that is running now: another process may have restarted it since we joined.
    const running = await findServer(server);
    if (running === undefined) return;
    await stopServer(running, server);
    logger.info('embedded Postgres stopped');
  });
}
