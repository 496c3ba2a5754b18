import { chmod, lstat, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Account, canReach } from './account.ts';

const APPLICATION = 'messaging-connector';
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Folders owned by root that any account can access, the most permanent first. Only those that exist and that
 * only root can write to: some are in places where everybody can create folders.
 */
export async function listSharedFolders(): Promise<string[]> {
  const folders: string[] = [];
  for (const folder of candidates()) if (await isTrustworthy(folder)) folders.push(folder);
  return folders;
}

/**
 * Creates `name` in the first shared folder in which it can be created and that the account can access.
 * Undefined if there is none.
 */
export async function makeSharedFolder(name: string, account: Account): Promise<string | undefined> {
  for (const folder of candidates()) {
    try {
      await mkdir(folder, { mode: 0o755 });
      // The umask may have removed permissions.
      await chmod(folder, 0o755);
    } catch {
      // It already exists, or cannot be created.
    }
    if (!(await isTrustworthy(folder)) || !(await canReach(folder, account, 'enter'))) continue;
    const made = join(folder, name);
    await mkdir(made, { recursive: true });
    await chmod(made, 0o755);
    return made;
  }
  return undefined;
}

function candidates(): string[] {
  return ['/var/lib', '/var/tmp', tmpdir()].map((parent) => join(parent, APPLICATION));
}

async function isTrustworthy(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined);
  return found?.isDirectory() === true && found.uid === 0 && (found.mode & WRITABLE_BY_OTHERS) === 0;
}
