import { chmod, mkdir, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../logger/logger.ts';
import { ensureCluster } from './embedded/cluster.ts';
import { EmbeddedPostgresFailed } from './embedded/embedded-postgres-error.ts';
import { serverUrl } from './embedded/find-running.ts';
import { place } from './embedded/placement.ts';
import { type Binaries, locateBinaries } from './embedded/programs.ts';
import { findServer, type ServerOptions, startServer } from './embedded/server.ts';
import { joinServer, type Membership } from './embedded-member.ts';

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
  /** Name of this user, in `users()`. */
  readonly name?: string;
}

export interface EmbeddedPostgres extends Membership {
  readonly url: string;
  /** Folder that contains the data. */
  readonly location: string;
  /** True if the server was already running. */
  readonly joined: boolean;
  /** A note for the user, such as the location of data kept elsewhere. */
  readonly note?: string;
}

/** Longer than a server needs to stop. */
const DEADLINE_MS = 60_000;
const RETRY_PAUSE_MS = 100;

/**
 * Starts the Postgres of an npm package, or joins the one that another process started in the same folder.
 * The server runs detached: neither Ctrl-C nor a crash of our process stops it, and the next start joins it
 * again. Throws `EmbeddedPostgresFailed` with what to do.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { clock, logger, settings = {}, name = 'embedded-postgres' } = options;
  const installed = options.binaries ?? (await locateBinaries());
  const home = await makeHome(options.dataDir);
  const placement = await place(home, installed);
  const password = await ensureCluster(placement, home, settings['fsync'] !== 'off');
  const serverOptions: ServerOptions = { home, placement, settings, clock };
  // Another process may start or stop the server at the same time.
  for (const begun = clock.elapsed(); clock.elapsed() - begun < DEADLINE_MS; ) {
    const found = await findServer(serverOptions);
    const server = found ?? (await startServer(serverOptions));
    const url = serverUrl(password, server?.port ?? 0);
    const member = server && (await joinServer(server, { ...serverOptions, url, name, logger }));
    if (server !== undefined && member !== undefined) {
      const joined = found !== undefined;
      logger.info({ joined, location: placement.storage, port: server.port }, 'embedded Postgres ready');
      const note = placement.note === undefined ? {} : { note: placement.note };
      return { url, location: placement.storage, joined, ...note, ...member };
    }
    await clock.sleep(RETRY_PAUSE_MS);
  }
  throw new EmbeddedPostgresFailed(
    `the Postgres in ${placement.cluster} can be neither started nor joined; see ${join(home, 'server.log')}`,
  );
}

/** The folder of our control files. Other users may traverse it to reach their own data, but not list it. */
async function makeHome(dataDir: string): Promise<string> {
  const home = join(resolve(dataDir), 'postgres');
  try {
    const made = await mkdir(dataDir, { recursive: true });
    if (made !== undefined) await chmod(dataDir, 0o755);
    await mkdir(home, { recursive: true });
    await chmod(home, 0o711);
    return await realpath(home);
  } catch (error) {
    throw new EmbeddedPostgresFailed(
      `${home} cannot be created or does not belong to this user; check who owns ${dataDir}`,
      error,
    );
  }
}
