import { lstatSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { chmod, chown, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { preparePrograms } from '../../../../src/runtime/database/embedded/programs.ts';

const NOBODY = 65_534;
let folder: string;
let home: string;
let installed: { readonly directory: string; readonly version: string };

/** A package as npm unpacks it, with one library and without the link to it. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'test-links-'));
  await chmod(folder, 0o755);
  home = join(folder, 'home');
  installed = { directory: join(folder, 'package/native'), version: '18.4.0' };
  mkdirSync(home);
  mkdirSync(join(installed.directory, 'lib'), { recursive: true });
  writeFileSync(join(installed.directory, 'lib/libpq.so.5.18'), 'library');
  const links = [{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }];
  writeFileSync(join(installed.directory, 'pg-symlinks.json'), JSON.stringify(links));
});
afterEach(async () => {
  await chmod(join(installed.directory, 'lib'), 0o755);
  rmSync(folder, { recursive: true });
});

it('are created if no install script has run', async () => {
  expect(await preparePrograms(installed, home, undefined)).toEqual(installed);
  const link = join(installed.directory, 'lib/libpq.so.5');
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(readFileSync(link, 'utf8')).toBe('library');
});

it('are created once in a copy for a user who cannot write to the installed package', async () => {
  await chmod(join(installed.directory, 'lib'), 0o555);
  const isRoot = process.getuid?.() === 0;
  // Root can write everywhere.
  if (isRoot) await chown(home, NOBODY, NOBODY);
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    const copy = await preparePrograms(installed, home, undefined);
    expect(copy).toEqual({ directory: join(home, 'programs-18.4.0/native'), version: '18.4.0' });
    const link = join(copy.directory, 'lib/libpq.so.5');
    expect(readFileSync(link, 'utf8')).toBe('library');
    const { ino } = statSync(copy.directory);
    expect(await preparePrograms(installed, home, undefined)).toEqual(copy);
    expect(statSync(copy.directory).ino).toBe(ino);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});
