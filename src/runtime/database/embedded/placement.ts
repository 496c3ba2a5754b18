import { createHash } from 'node:crypto';
import { chmod, mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Account, canEnter, chooseAccount } from './account.ts';
import { EmbeddedPostgresFailed } from './embedded-postgres-error.ts';
import { type Binaries, preparePrograms } from './programs.ts';

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

/** Where the data of root is if the project is in a folder that nobody else may enter. Only root can write there. */
const OUTSIDE = '/var/lib/messaging-connector-of-root';

/**
 * Decides which user the server runs as and where its data is: in `home`, unless the current user is root, as whom
 * Postgres refuses to run, and the account that it then runs as has no access to that folder. `home` is a real path.
 */
export async function place(home: string, installed: Binaries): Promise<Placement> {
  const found = await findStorage(home);
  const account = await chooseAccount(join(found ?? home, 'cluster'));
  const storage = account === undefined ? home : (found ?? (await chooseStorage(home, account)));
  if (account !== undefined && !(await canEnter(account, storage))) {
    throw new EmbeddedPostgresFailed(
      `Postgres does not run as root, and user ${account.uid} has no access to ${storage}; ` +
        'grant others access to the folders above it (chmod o+x), or start as an ordinary user',
    );
  }
  const binaries = await preparePrograms(installed, storage, account);
  const where = storage === home ? '' : `, who has no access to ${dirname(home)}`;
  const note =
    account &&
    `Postgres does not run as root, so it runs as user ${account.uid}${where}; the data is in ${storage}`;
  return { storage, cluster: join(storage, 'cluster'), binaries, account, note };
}

/** The folder that already contains the data of `home`. */
export async function findStorage(home: string): Promise<string | undefined> {
  for (const storage of [home, outside(home)]) {
    if ((await stat(join(storage, 'cluster')).catch(() => undefined)) !== undefined) return storage;
  }
  return undefined;
}

function outside(home: string): string {
  return join(OUTSIDE, createHash('sha256').update(home).digest('hex').slice(0, 16));
}

async function chooseStorage(home: string, account: Account): Promise<string> {
  if (await canEnter(account, home)) return home;
  const storage = outside(home);
  await mkdir(storage, { recursive: true }).catch(() => undefined);
  // The umask may have removed permissions.
  for (const folder of [OUTSIDE, storage]) await chmod(folder, 0o755).catch(() => undefined);
  return storage;
}
