import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { promisify } from 'node:util';

/** The user that a server process runs as. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** The traditional user without rights. */
const NOBODY: Account = { uid: 65_534, gid: 65_534 };

const run = promisify(execFile);

/**
 * The user that Postgres runs as: the current one (undefined) for an ordinary user. Postgres refuses to run as root,
 * so for root it is the owner of existing data, or else `nobody`.
 */
export async function chooseAccount(cluster: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(cluster).catch(() => undefined);
  return owner === undefined || owner.uid === 0 ? NOBODY : { uid: owner.uid, gid: owner.gid };
}

/** Whether the account can run a program, with all that it loads. */
export async function canRun(account: Account, program: string, ...words: string[]): Promise<boolean> {
  return await run(program, words, { ...account, cwd: '/' }).then(
    () => true,
    () => false,
  );
}

/** Whether the account can enter a folder, and each folder above it. */
export async function canEnter(account: Account, folder: string): Promise<boolean> {
  return await canRun(account, 'test', '-x', folder);
}
