import { execFile, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Clock } from '../../clock/clock.ts';
import { runAs, serverEnvironment } from './cluster.ts';
import { EmbeddedPostgresFailed } from './embedded-postgres-error.ts';
import { binaryPath } from './locate-binaries.ts';
import type { Placement } from './placement.ts';
import {
  identifyProcess,
  isRunning,
  type ProcessIdentity,
  parseIdentity,
  readCommand,
} from './process-identity.ts';

export interface ServerOptions {
  /** Folder of the control files. */
  readonly home: string;
  readonly placement: Placement;
  /** Server settings in addition to ours. */
  readonly settings: Readonly<Record<string, string>>;
  readonly clock: Clock;
}

/** A server that accepts connections. */
export interface RunningServer {
  readonly process: ProcessIdentity;
  readonly port: number;
}

const run = promisify(execFile);

const POLL_MS = 10;
const START_DEADLINE_MS = 60_000;
const STOP_DEADLINE_MS = 15_000;
const START_ATTEMPTS = 8;
const RETRY_PAUSE_MS = 250;
const LARGEST_LOG = 5 * 1024 * 1024;

/** What Postgres writes about itself into `postmaster.pid`. */
interface PostmasterFile {
  readonly pid: number;
  readonly port: number;
  readonly ready: boolean;
}

async function readPostmasterFile(cluster: string): Promise<PostmasterFile | undefined> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '');
  const lines = text.split('\n');
  const pid = Number(lines[0]);
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  return { pid, port: Number(lines[3] ?? 0), ready: (lines[7] ?? '').trim() === 'ready' };
}

/**
 * The server of this cluster, if it is running, once it accepts connections. A `postmaster.pid` whose process
 * is gone is left to Postgres; one whose pid now belongs to another process, which would make Postgres give
 * up, is removed.
 */
export async function findServer({
  home,
  placement,
  clock,
}: ServerOptions): Promise<RunningServer | undefined> {
  const file = await readPostmasterFile(placement.cluster);
  if (file === undefined) return undefined;
  const found = await identifyProcess(file.pid);
  if (found !== undefined && (await isOurServer(found, home, placement))) {
    return await waitUntilReady(found, placement, clock);
  }
  if (numberIsTaken(file.pid)) await rm(join(placement.cluster, 'postmaster.pid'), { force: true });
  return undefined;
}

/** From our own record of what we started; if that was lost in a crash, from the command line. */
async function isOurServer(found: ProcessIdentity, home: string, placement: Placement): Promise<boolean> {
  const recorded = parseIdentity(await readFile(join(home, 'server.json'), 'utf8').catch(() => ''));
  if (recorded?.pid === found.pid && recorded.started === found.started) return true;
  return (await readCommand(found.pid))?.includes(placement.cluster) === true;
}

function numberIsTaken(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * `port`: the port that a server was started with. A file that a crash left behind has another one, and may have the
 * number of the new process: in a container, processes are numbered anew.
 */
async function waitUntilReady(
  server: ProcessIdentity,
  { cluster }: Placement,
  clock: Clock,
  port?: number,
): Promise<RunningServer | undefined> {
  const begun = clock.elapsed();
  while (clock.elapsed() - begun < START_DEADLINE_MS) {
    const file = await readPostmasterFile(cluster);
    const isOwn = file?.pid === server.pid && (port === undefined || file.port === port);
    if (isOwn && file.ready) return { process: server, port: file.port };
    if (!(await isRunning(server))) return undefined;
    await clock.sleep(POLL_MS);
  }
  throw new EmbeddedPostgresFailed(`the Postgres in ${cluster} (process ${server.pid}) is not ready`);
}

/**
 * Starts the server on a free port of the loopback address, in its own session, so that Ctrl-C does not reach
 * it. Resolves when it accepts connections.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const log = join(options.home, 'server.log');
  await rotateLog(log);
  let lastWords = '';
  for (let attempt = 1; attempt <= START_ATTEMPTS; attempt += 1) {
    const from = await stat(log).then(
      ({ size }) => size,
      () => 0,
    );
    const port = await findFreePort();
    const started = await launch(options, log, port);
    const running = await waitUntilReady(started, options.placement, options.clock, port);
    if (running !== undefined) return running;
    lastWords = (await readFile(log, 'utf8')).slice(from);
    if (!/address already in use|could not bind|still in use/i.test(lastWords)) break;
    // Another process took the port in the meantime, or the last backend of a crashed server is just exiting.
    await options.clock.sleep(RETRY_PAUSE_MS);
  }
  const words =
    lastWords
      .trim()
      .split('\n')
      .findLast((line) => /FATAL|ERROR|PANIC/.test(line)) ?? 'it exited without output';
  throw new EmbeddedPostgresFailed(`Postgres did not start: ${words} (see ${log})`);
}

async function launch(
  { home, placement, settings }: ServerOptions,
  log: string,
  port: number,
): Promise<ProcessIdentity> {
  const all: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    log_checkpoints: 'off',
    ...settings,
  };
  const args = [
    '-D',
    placement.cluster,
    ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
  const output = openSync(log, 'a', 0o600);
  try {
    const child = spawn(binaryPath(placement.binaries, 'postgres'), args, {
      ...runAs(placement),
      detached: true,
      windowsHide: true,
      stdio: ['ignore', output, output],
      cwd: placement.storage,
      env: serverEnvironment(),
    });
    await new Promise((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) =>
        reject(new EmbeddedPostgresFailed('the Postgres program cannot be run', error)),
      );
    });
    child.unref();
    const identity = (await identifyProcess(child.pid ?? 0)) ?? { pid: child.pid ?? 0, started: '' };
    await writeFile(join(home, 'server.json'), JSON.stringify(identity));
    return identity;
  } finally {
    closeSync(output);
  }
}

/** Fast shutdown: sessions are ended and everything is written. An immediate one if that takes too long. */
export async function stopServer(server: RunningServer, options: ServerOptions): Promise<void> {
  for (const mode of ['fast', 'immediate'] as const) {
    await askToStop(server, mode, options.placement);
    if (await waitUntilGone(server, options.clock)) return;
  }
  throw new EmbeddedPostgresFailed(`Postgres (process ${server.process.pid}) does not stop`);
}

async function askToStop(
  server: RunningServer,
  mode: 'fast' | 'immediate',
  placement: Placement,
): Promise<void> {
  if (!(await isRunning(server.process))) return;
  if (process.platform !== 'win32') {
    process.kill(server.process.pid, mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    return;
  }
  // Windows has no such signals; this program provides them.
  await run(binaryPath(placement.binaries, 'pg_ctl'), ['stop', '-D', placement.cluster, '-m', mode, '-W']);
}

async function waitUntilGone(server: RunningServer, clock: Clock): Promise<boolean> {
  const begun = clock.elapsed();
  while (await isRunning(server.process)) {
    if (clock.elapsed() - begun > STOP_DEADLINE_MS) return false;
    await clock.sleep(POLL_MS);
  }
  return true;
}

async function rotateLog(log: string): Promise<void> {
  const size = await stat(log).then(
    (found) => found.size,
    () => 0,
  );
  if (size > LARGEST_LOG) await rename(log, `${log}.1`);
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
