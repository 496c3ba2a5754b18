import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { ConfigurationError } from '../../runtime/config/configuration-error.ts';
import { type MediaStore, StoreFailure } from './media-store.ts';

/**
 * Keeps files in a folder, each in the file of its key. A file appears under its name once its bytes are on the disk,
 * and a write ends once its name is. `sync` flushes the names in a folder.
 */
export function createDiskStore(folder: string, sync = syncFolder): MediaStore {
  const root = resolve(folder);

  function pathOf(key: string): string {
    const path = resolve(root, key);
    if (!path.startsWith(`${root}${sep}`))
      throw new StoreFailure('the key of a file leads out of the folder');
    return path;
  }

  /** One process at a time writes a key, so what an earlier one has left is overwritten. */
  const partOf = (path: string): string => `${path}.part`;

  async function write(path: string, pieces: readonly Uint8Array[]): Promise<void> {
    const made = await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const file = await open(partOf(path), 'w', 0o600);
    try {
      await file.writeFile(pieces);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(partOf(path), path);
    // Whoever made a folder may have died before its name was flushed, so all up to the root are.
    const top = made === undefined || made.length > root.length ? root : dirname(made);
    for (let each = path; each !== top; ) {
      each = dirname(each);
      await sync(each);
    }
  }

  async function remove(path: string): Promise<void> {
    for (const each of [partOf(path), path]) await rm(each, { force: true });
  }

  async function sizeOf(path: string): Promise<number | null> {
    try {
      return (await stat(path)).size;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null;
      throw error;
    }
  }

  return {
    async check() {
      try {
        // Processes in containers that share the folder have the same id.
        const probe = join(root, `.messaging-connector-${randomUUID()}`);
        await write(probe, [Buffer.from('probe')]);
        await remove(probe);
      } catch (error) {
        const problem = `names a folder that cannot be written: ${root} (${codeOf(error)}). Create it, and give the user of the process the right to write there.`;
        throw new ConfigurationError([{ setting: 'MEDIA_FOLDER', problem }]);
      }
    },
    put: (key, { pieces }) => orFail(() => write(pathOf(key), pieces)),
    sizeOf: (key) => orFail(() => sizeOf(pathOf(key))),
    read: (key) =>
      orFail(async () => {
        const size = await sizeOf(pathOf(key));
        return size === null ? null : { size, open: () => createReadStream(pathOf(key)) };
      }),
    remove: (key) => orFail(() => remove(pathOf(key))),
  };
}

/** As Postgres does it: where a folder cannot be opened or flushed, the system takes care of its names. */
async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path);
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch (error) {
    if (!['EACCES', 'EBADF', 'EINVAL', 'EISDIR', 'EPERM'].includes(codeOf(error))) throw error;
  }
}

async function orFail<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof StoreFailure) throw cause;
    throw new StoreFailure(`the folder of files failed: ${codeOf(cause)}`, { cause });
  }
}

/** Such as `ENOSPC`. */
function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'string' ? code : 'unknown error';
}
