import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { findEmbeddedPostgres } from '../../../../src/runtime/database/embedded/find-running.ts';
import { makeFolder } from '../../../support/make-folder.ts';

let folder: string;

beforeEach(() => {
  folder = makeFolder();
});

/** What a server writes to its folder: its process id, data folder, start time and port. */
const describeServer = (pid: number | undefined, cluster: string): string =>
  `${pid}\n${cluster}\n1700000000\n54321\n`;

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
  const cluster = join(home, 'cluster');
  // No process has the first id, and the second is that of another program.
  for (const pid of [2 ** 30, process.pid]) {
    await writeFile(file, describeServer(pid, cluster));
    expect(await findEmbeddedPostgres(folder)).toEqual({ kind: 'stopped', location: home });
  }
  const server = spawn(process.execPath, ['-e', 'process.stdin.resume()', cluster], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  onTestFinished(() => void server.kill());
  await once(server, 'spawn');
  await writeFile(file, describeServer(server.pid, cluster));
  const url = 'postgres://postgres:of-a-test@127.0.0.1:54321/postgres';
  expect(await findEmbeddedPostgres(folder)).toEqual({ kind: 'running', location: home, url });
});
