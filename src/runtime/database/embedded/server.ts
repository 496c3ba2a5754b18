import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile, rename, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Clock } from '../../clock/clock.ts';
import { runAs, serverEnvironment } from './cluster.ts';
import { EmbeddedPostgresFailed } from './embedded-postgres-error.ts';
import type { Placement } from './placement.ts';
import { findPostmaster, isServing, type Postmaster, readPostmaster } from './postmaster.ts';
import { binaryPath } from './programs.ts';

export interface ServerOptions {
  /** Folder of the control files. */
  readonly home: string;
  readonly placement: Placement;
  /** Server settings in addition to ours. */
  readonly settings: Readonly<Record<string, string>>;
  readonly clock: Clock;
}

const run = promisify(execFile);

const POLL_MS = 10;
const START_DEADLINE_MS = 60_000;
const STOP_DEADLINE_MS = 15_000;
const LARGEST_LOG = 5 * 1024 * 1024;

/** Another process starts or stops the server of the same data, or something took the port: try again. */
const TRANSIENT =
  /address already in use|could not bind|still in use|lock file .* (?:already exists|is empty)/i;

/** The server of this cluster, if it is running, once it accepts connections. */
export async function findServer({ placement, clock }: ServerOptions): Promise<Postmaster | undefined> {
  return await untilReady(placement, clock, () => findPostmaster(placement.cluster));
}

/**
 * Starts the server on a free port of the loopback address, in its own session, so that Ctrl-C does not reach
 * it. Resolves when it accepts connections; with undefined if another process was faster, or for another reason that
 * passes.
 */
export async function startServer(options: ServerOptions): Promise<Postmaster | undefined> {
  const { placement, clock } = options;
  const log = join(options.home, 'server.log');
  // Another process may just have done so.
  if ((await sizeOf(log)) > LARGEST_LOG) await rename(log, `${log}.1`).catch(() => undefined);
  const from = await sizeOf(log);
  const port = await findFreePort();
  const child = await launch(options, log, port);
  const running = await untilReady(placement, clock, async () => {
    if (child.exitCode !== null || child.signalCode !== null) return undefined;
    const written = await readPostmaster(placement.cluster);
    // A file that a crash left has another port, and may have the same pid: in a container, they begin anew.
    const isOwn = written?.pid === child.pid && written?.port === port;
    return written !== undefined && isOwn ? written : { pid: child.pid ?? 0, port, ready: false };
  });
  if (running !== undefined) return running;
  const lines = (await readFile(log)).subarray(from).toString('utf8').split('\n');
  if (lines.some((line) => TRANSIENT.test(line))) return undefined;
  const words = lines.findLast((line) => /FATAL|ERROR|PANIC/.test(line)) ?? 'it exited without output';
  throw new EmbeddedPostgresFailed(`Postgres did not start: ${words} (see ${log})`);
}

/** Resolves when what `look` finds is ready, or with undefined when it finds nothing more. */
async function untilReady(
  { cluster }: Placement,
  clock: Clock,
  look: () => Promise<Postmaster | undefined>,
): Promise<Postmaster | undefined> {
  const begun = clock.elapsed();
  while (clock.elapsed() - begun < START_DEADLINE_MS) {
    const server = await look();
    if (server === undefined || server.ready) return server;
    await clock.sleep(POLL_MS);
  }
  throw new EmbeddedPostgresFailed(`the Postgres in ${cluster} is not ready`);
}

async function launch(
  { placement, settings }: ServerOptions,
  log: string,
  port: number,
): Promise<ChildProcess> {
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
  const stale = await findStalePid(placement.cluster);
  const output = openSync(log, 'a', 0o600);
  try {
    const child = spawn(binaryPath(placement.binaries, 'postgres'), args, {
      ...runAs(placement),
      detached: true,
      windowsHide: true,
      stdio: ['ignore', output, output],
      cwd: placement.storage,
      env: {
        ...serverEnvironment(),
        // Postgres takes a process with the pid in its file for a server, except for this one.
        PG_GRANDPARENT_PID: String(stale ?? 0),
      },
    });
    await new Promise((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) =>
        reject(new EmbeddedPostgresFailed('the Postgres program cannot be run', error)),
      );
    });
    child.unref();
    return child;
  } finally {
    closeSync(output);
  }
}

/** The pid in a file that a crash left, which another process may have got since then. */
async function findStalePid(cluster: string): Promise<number | undefined> {
  const left = await readPostmaster(cluster);
  return left === undefined || (await isServing(left.pid, cluster)) ? undefined : left.pid;
}

/** Fast shutdown: sessions are ended and everything is written. An immediate one if that takes too long. */
export async function stopServer(
  { pid }: Postmaster,
  { placement: { cluster, binaries }, clock }: ServerOptions,
): Promise<void> {
  for (const mode of ['fast', 'immediate'] as const) {
    const begun = clock.elapsed();
    if (!(await isServing(pid, cluster))) return;
    if (process.platform !== 'win32') process.kill(pid, mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    // Windows has no such signals; this program provides them.
    else await run(binaryPath(binaries, 'pg_ctl'), ['stop', '-D', cluster, '-m', mode, '-W']);
    while (clock.elapsed() - begun < STOP_DEADLINE_MS) {
      if (!(await isServing(pid, cluster))) return;
      await clock.sleep(POLL_MS);
    }
  }
  throw new EmbeddedPostgresFailed(`the Postgres in ${cluster} does not stop`);
}

async function sizeOf(path: string): Promise<number> {
  return await stat(path).then(
    ({ size }) => size,
    () => 0,
  );
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
