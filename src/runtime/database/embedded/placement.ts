import { createHash } from 'node:crypto';
import { realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Account, canReach, chooseAccount } from './account.ts';
import { bringWithinReach, withLinks } from './copy-binaries.ts';
import { EmbeddedPostgresFailed } from './embedded-postgres-error.ts';
import type { Binaries } from './locate-binaries.ts';
import { listSharedFolders, makeSharedFolder } from './shared-folders.ts';

/** Where a server's parts are, and whom it runs as. */
export interface Placement {
  /** Folder that holds the data. */
  readonly storage: string;
  /** The data itself, in `storage`. */
  readonly cluster: string;
  readonly binaries: Binaries;
  /** Undefined: as we are. */
  readonly account: Account | undefined;
  /** What a user should know about it. */
  readonly note: string | undefined;
}

/**
 * Decides whom the server runs as and where its data and programs lie: beside the project, unless we are
 * root. Postgres refuses root, so it then runs as an account without rights; where that account cannot enter
 * the project's folder, data and programs go to a place that it can, found again by a hash of the path.
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
  const where = storage === home ? '' : `, who cannot enter ${dirname(home)}`;
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

/** The folder that holds data already. */
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
    `Postgres must run as ${account.name}, who can enter neither ${home} nor a folder of the system's; ` +
      'start as an ordinary user',
  );
}

async function refuseUnreachable(storage: string, account: Account): Promise<void> {
  if (await canReach(storage, account, 'enter')) return;
  throw new EmbeddedPostgresFailed(
    `the data in ${storage} belongs to ${account.name}, who cannot enter that folder any more; ` +
      'let others enter the folders above it (chmod o+x), or start as that user',
  );
}
