import { createHash } from 'node:crypto';
import { realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Account, canReach, chooseAccount } from './account.ts';
import { bringWithinReach, withLinks } from './copy-binaries.ts';
import { EmbeddedPostgresFailed } from './embedded-postgres-error.ts';
import type { Binaries } from './locate-binaries.ts';
import { listSharedFolders, makeSharedFolder } from './shared-folders.ts';

/** Where the parts of a server are, and which user it runs as. */
export interface Placement {
  /** Folder that holds the data. */
  readonly storage: string;
  /** The data itself, in `storage`. */
  readonly cluster: string;
  readonly binaries: Binaries;
  /** Undefined for the current user. */
  readonly account: Account | undefined;
  /** A note for the user. */
  readonly note: string | undefined;
}

/**
 * Decides which user the server runs as and where its data and programs are: next to the project, unless the
 * current user is root. Postgres refuses to run as root, so it then runs as an unprivileged account; if that
 * account cannot access the project's folder, data and programs are placed where it can, in a folder named by
 * a hash of the path.
 */
export async function place(home: string, fromNpm: Binaries): Promise<Placement> {
  const installed = await withLinks(fromNpm, home);
  const key = createHash('sha256')
    .update(await realpath(home))
    .digest('hex')
    .slice(0, 16);
  const elsewhere = process.getuid?.() === 0 ? await listSharedFolders() : [];
  const storages = [home, ...elsewhere.map((folder) => join(folder, key))];
  const holder = await findHolder(storages);
  const account = await chooseAccount(holder);
  if (account === undefined) return makePlacement(home, installed, account, undefined);
  const storage = holder ?? (await chooseStorage(home, key, account));
  await refuseUnreachable(storage, account);
  const why = `Postgres does not run as root, so it runs as ${account.name}`;
  const where = storage === home ? '' : `, who has no access to ${dirname(home)}`;
  return makePlacement(
    storage,
    await bringWithinReach(installed, account),
    account,
    `${why}${where}; the data is in ${storage}`,
  );
}

function makePlacement(
  storage: string,
  binaries: Binaries,
  account: Account | undefined,
  note: string | undefined,
): Placement {
  return { storage, cluster: join(storage, 'cluster'), binaries, account, note };
}

/** The folder that already contains data. */
async function findHolder(storages: readonly string[]): Promise<string | undefined> {
  for (const storage of storages) {
    if ((await stat(join(storage, 'cluster')).catch(() => undefined)) !== undefined) return storage;
  }
  return undefined;
}

async function chooseStorage(home: string, key: string, account: Account): Promise<string> {
  if (await canReach(home, account, 'enter')) return home;
  const shared = await makeSharedFolder(key, account);
  if (shared !== undefined) return shared;
  throw new EmbeddedPostgresFailed(
    `Postgres must run as ${account.name}, who has no access to ${home} or to a shared folder of the system; ` +
      'start as an ordinary user',
  );
}

async function refuseUnreachable(storage: string, account: Account): Promise<void> {
  if (await canReach(storage, account, 'enter')) return;
  throw new EmbeddedPostgresFailed(
    `the data in ${storage} belongs to ${account.name}, who no longer has access to that folder; ` +
      'grant others access to the folders above it (chmod o+x), or start as that user',
  );
}
