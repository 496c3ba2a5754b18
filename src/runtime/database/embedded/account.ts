import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The user that a server process runs as. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
  readonly name: string;
}

const PREFERRED = ['postgres', 'nobody'];
/** The traditional unprivileged user, for systems whose user list contains none. */
const NOBODY: Account = { uid: 65_534, gid: 65_534, name: 'uid 65534' };

/**
 * The user that Postgres runs as: the current one (undefined) for an ordinary user. Postgres refuses to run
 * as root, so for root it is the owner of existing data in `holder`, or else an existing unprivileged
 * account. Never creates a user.
 */
export async function chooseAccount(holder: string | undefined): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const users = parseUsers(await readFile('/etc/passwd', 'utf8').catch(() => ''));
  const owner = holder === undefined ? undefined : await stat(join(holder, 'cluster'));
  if (owner !== undefined && owner.uid !== 0) {
    const name = users.find(({ uid }) => uid === owner.uid)?.name ?? `uid ${owner.uid}`;
    return { uid: owner.uid, gid: owner.gid, name };
  }
  const preferred = PREFERRED.map((name) => users.find((user) => user.name === name));
  return preferred.find((user) => user !== undefined) ?? NOBODY;
}

function parseUsers(text: string): Account[] {
  return text.split('\n').flatMap((line) => {
    const [name = '', , uid = '', gid = ''] = line.split(':');
    return /^[1-9]\d*$/.test(uid) && /^\d+$/.test(gid) ? [{ uid: Number(uid), gid: Number(gid), name }] : [];
  });
}

const READ = 4;
const ENTER = 1;

function allows(
  entry: { mode: number; uid: number; gid: number },
  account: Account,
  wanted: number,
): boolean {
  const shift = entry.uid === account.uid ? 6 : entry.gid === account.gid ? 3 : 0;
  return ((entry.mode >> shift) & wanted) === wanted;
}

/** Whether the account can traverse every folder down to `path`, and read or traverse `path` itself. */
export async function canReach(path: string, account: Account, last: 'read' | 'enter'): Promise<boolean> {
  const target = await realpath(path).catch(() => undefined);
  if (target === undefined) return false;
  let wanted = last === 'read' ? READ : ENTER;
  for (let at = target; ; at = dirname(at)) {
    if (!allows(await stat(at), account, wanted)) return false;
    wanted = ENTER;
    if (dirname(at) === at) return true;
  }
}
