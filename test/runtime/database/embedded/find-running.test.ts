import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findEmbeddedPostgres } from '../../../../src/runtime/database/embedded/find-running.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'test-find-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** What a server leaves in its folder: its process, where it lies, when it began, its port. */
const describeServer = (pid: number): string => `${pid}\n/data\n1700000000\n54321\n`;

it('finds nothing where there is nothing, and makes nothing', async () => {
  expect(await findEmbeddedPostgres(join(folder, 'data'))).toEqual({ kind: 'absent' });
  await mkdir(join(folder, 'data', 'postgres'), { recursive: true });
  expect(await findEmbeddedPostgres(join(folder, 'data'))).toEqual({ kind: 'absent' });
});

it('tells a server that runs from one that does not', async () => {
  const home = join(folder, 'postgres');
  const file = join(home, 'cluster', 'postmaster.pid');
  await mkdir(join(home, 'cluster'), { recursive: true });
  await writeFile(join(home, 'password'), 'of-a-test\n');
  expect(await findEmbeddedPostgres(folder)).toEqual({ kind: 'stopped', location: home });
  // No process has this number.
  await writeFile(file, describeServer(2 ** 30));
  expect(await findEmbeddedPostgres(folder)).toEqual({ kind: 'stopped', location: home });
  await writeFile(file, describeServer(process.pid));
  const url = 'postgres://postgres:of-a-test@127.0.0.1:54321/postgres';
  expect(await findEmbeddedPostgres(folder)).toEqual({ kind: 'running', location: home, url });
});
