import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { findFreePort } from './find-free-port.ts';

/** The Redis of one test file. */
export interface TestRedis {
  readonly url: string;
  readonly port: number;
  /** The process, to freeze or kill it. */
  readonly process: ChildProcess;
  stop(): Promise<void>;
}

/** Why the tests on Redis cannot run here, or undefined if they can. */
export const REDIS_MISSING =
  spawnSync('redis-server', ['--version']).status === 0
    ? undefined
    : 'there is no redis-server on this machine';

const GIVEN = process.env['TEST_REDIS_URL'] || undefined;

/** Why the tests that need no Redis of their own cannot run here, or undefined if they can. */
export const ANY_REDIS_MISSING = GIVEN === undefined ? REDIS_MISSING : undefined;

/** The Redis of `TEST_REDIS_URL`, which others may use as well, or one of this test. */
export async function openTestRedis(): Promise<Pick<TestRedis, 'url' | 'stop'>> {
  return GIVEN === undefined ? await startTestRedis() : { url: GIVEN, stop: () => Promise.resolve() };
}

/** Starts `redis-server` on a free port, or on `port`, with command-line `settings`. Persists nothing. */
export async function startTestRedis(settings: readonly string[] = [], port?: number): Promise<TestRedis> {
  const used = port ?? (await findFreePort());
  const folder = mkdtempSync(join(tmpdir(), 'test-redis-'));
  const fixed = [
    '--port',
    String(used),
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    '--save',
    '',
    '--appendonly',
    'no',
  ];
  const server = spawn('redis-server', [...fixed, ...settings], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(server, 'exit');
  for await (const line of createInterface({ input: server.stdout })) {
    if (line.includes('Ready to accept connections')) break;
  }
  server.stdout.resume();
  return {
    url: `redis://127.0.0.1:${used}`,
    port: used,
    process: server,
    async stop() {
      server.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
