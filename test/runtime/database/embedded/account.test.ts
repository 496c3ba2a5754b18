import { chmod, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { canEnter } from '../../../../src/runtime/database/embedded/account.ts';

const OTHER = { uid: 4_000_001, gid: 4_000_001 };

// Only root can ask for another user.
describe.runIf(process.getuid?.() === 0)('an account', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'reach-')));
    await chmod(folder, 0o755);
    await mkdir(join(folder, 'inner'));
  });

  afterEach(() => rm(folder, { recursive: true }));

  it.each([
    ['one that all may enter', 0o755, true],
    ['one that all may pass, but not list', 0o711, true],
    ['one that only its owner may enter', 0o700, false],
  ])('can enter %s', async (_, mode, expected) => {
    await chmod(join(folder, 'inner'), mode);
    expect(await canEnter(OTHER, join(folder, 'inner'))).toBe(expected);
  });

  it('cannot enter a folder below one that only its owner may enter, nor one that does not exist', async () => {
    await chmod(folder, 0o700);
    expect(await canEnter(OTHER, join(folder, 'inner'))).toBe(false);
    expect(await canEnter(OTHER, join(folder, 'nothing'))).toBe(false);
  });
});
