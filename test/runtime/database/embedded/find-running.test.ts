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

/** What a server writes to its folder: its process id, data folder, start time and port. */
const describeServer = (pid: number): string => `${pid}\n/data\n1700000000\n54321\n`;

it('finds nothing in a missing folder, and does not create it', async () => {
  expect(await findEmbeddedPostgres(join(folder, 'data'))).toEqual({ kind: 'absent' });
  await mkdir(join(folder, 'data', 'postgres'), { recursive: true });
  expect(await findEmbeddedPostgres(join(folder, 'data'))).toEqual({ kind: 'absent' });
});

it('distinguishes a running server from a stopped one', async () => {
  const home = join(folder, 'postgres');
  const file = join(home, 'cluster', 'postmaster.pid');
  await mkdir(join(home, 'cluster'), { recursive: true });
  await writeFile(join(home, 'password'), 'of-a-test\n');
  expect(await findEmbeddedPostgres(folder)).toEqual({ kind: 'stopped', location: home });
  // No process has this id.
  await writeFile(file, describeServer(2 ** 30));
  expect(await findEmbeddedPostgres(folder)).toEqual({ kind: 'stopped', location: home });
  await writeFile(file, describeServer(process.pid));
  const url = 'postgres://postgres:of-a-test@127.0.0.1:54321/postgres';
  expect(await findEmbeddedPostgres(folder)).toEqual({ kind: 'running', location: home, url });
});
