import { existsSync, readdirSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it, vi } from 'vitest';
import { createDiskStore } from '../../../src/connector/media/disk-store.ts';
import { makeFolder } from '../../support/make-folder.ts';

const KEY = 'default/c1/2026/01/m1-277089d9';
const FILE = {
  pieces: [Buffer.from('by'), Buffer.from('tes')],
  size: 5,
  sha256: '',
  contentType: 'image/png',
};
const never = new AbortController().signal;

let above: string;
let folder: string;
/** The folders whose names were flushed, or `bytes`, and whether the file had its name by then. */
let flushed: [folder: string, named: boolean][];
const sync = async (path: string): Promise<void> => {
  flushed.push([path, existsSync(join(folder, KEY))]);
};
beforeEach(() => {
  above = makeFolder();
  folder = join(above, 'data/media');
  flushed = [];
});

/** From the folder of the file to the root. */
const upToRoot = (): string[] =>
  ['default/c1/2026/01', 'default/c1/2026', 'default/c1', 'default', '.'].map((each) => join(folder, each));

it('a file gets its name once its bytes are on the disk, and is written once that name, and those of the folders made for it, are', async () => {
  const handle = await open(above);
  const datasync = vi
    .spyOn(Object.getPrototypeOf(handle), 'datasync')
    .mockImplementation(() => sync('bytes'));
  await handle.close();
  await createDiskStore(folder, sync).put(KEY, FILE, never);
  datasync.mockRestore();
  const folders = [...upToRoot(), join(above, 'data'), above];
  expect(flushed).toEqual([['bytes', false], ...folders.map((each) => [each, true])]);
});

it('the names of folders that an interrupted write has made are flushed too, and none above the root', async () => {
  await createDiskStore(folder).put(KEY, FILE, never);
  await createDiskStore(folder, sync).put(KEY, FILE, never);
  expect(flushed.map(([each]) => each)).toEqual(upToRoot());
});

it('only the user of the process may read files, and enter folders', async () => {
  await createDiskStore(folder).put(KEY, FILE, never);
  const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
  expect([modeOf(join(folder, KEY)), ...upToRoot().map(modeOf)]).toEqual([
    '600',
    ...['700', '700', '700', '700', '700'],
  ]);
});

it('processes of the same id, as in containers, try a folder at the same time', async () => {
  await Promise.all(Array.from({ length: 8 }, () => createDiskStore(folder).check()));
  expect(readdirSync(folder)).toEqual([]);
});
