import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { canReach } from '../../../../src/runtime/database/embedded/account.ts';

const other = { uid: 4_000_001, gid: 4_000_001, name: 'other' };

describe('access of an account', () => {
  let folder: string;
  let file: string;

  beforeEach(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'reach-')));
    await chmod(folder, 0o755);
    await mkdir(join(folder, 'inner'));
    file = join(folder, 'inner', 'file');
    await writeFile(file, '');
  });

  afterEach(() => rm(folder, { recursive: true }));

  it.each([
    ['a file all may read', 0o755, 0o644, true],
    ['a file below a folder all may pass, but not list', 0o711, 0o644, true],
    ['a file that only its owner can read', 0o755, 0o600, false],
    ['a file below a folder that only its owner can enter', 0o700, 0o644, false],
  ])('knows %s', async (_, folderMode, fileMode, expected) => {
    await chmod(join(folder, 'inner'), folderMode);
    await chmod(file, fileMode);
    expect(await canReach(file, other, 'read')).toBe(expected);
  });

  it('depends on the permissions of the owner if the account is the owner', async () => {
    await chmod(file, 0o044);
    const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, name: 'owner' };
    expect(await canReach(file, owner, 'read')).toBe(false);
    expect(await canReach(file, other, 'read')).toBe(true);
  });

  it('does not include what does not exist', async () => {
    expect(await canReach(join(folder, 'nothing'), other, 'read')).toBe(false);
  });
});
