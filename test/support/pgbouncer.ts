import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { findFreePort } from './find-free-port.ts';

/** The pooler's program, if it is installed. */
export const PGBOUNCER: string | undefined = [
  '/usr/sbin/pgbouncer',
  '/usr/bin/pgbouncer',
  '/usr/local/bin/pgbouncer',
].find((path) => existsSync(path));

/** A pooler in transaction mode in front of one database. */
export interface Pooler {
  /** The database's URL through the pooler, without `?prepare=false`. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a pooler with a few server connections in front of the database of `url`. */
export async function startPgbouncer(program: string, url: string, poolSize: number): Promise<Pooler> {
  const folder = await mkdtemp(join(tmpdir(), 'pgbouncer-'));
  await chmod(folder, 0o755);
  const port = await findFreePort();
  const target = new URL(url);
  const name = target.pathname.slice(1);
  const config = join(folder, 'pgbouncer.ini');
  const server = [
    `host=${target.hostname}`,
    `port=${target.port || 5432}`,
    `dbname=${name}`,
    `user=${target.username}`,
  ];
  if (target.password !== '') server.push(`password=${decodeURIComponent(target.password)}`);
  await writeFile(
    config,
    `[databases]
${name} = ${server.join(' ')}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${poolSize}
`,
  );
  // It refuses to run as root; any other account works.
  const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const child = spawn(program, [config], { ...account, stdio: 'ignore' });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await untilListening(port, child);
  return {
    url: Object.assign(new URL(url), { host: `127.0.0.1:${port}` }).toString(),
    async stop() {
      child.kill('SIGKILL');
      await exited;
      await rm(folder, { recursive: true });
    },
  };
}

async function untilListening(port: number, child: ChildProcess): Promise<void> {
  while (child.exitCode === null) {
    const connected = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
    if (connected) return;
    await systemClock.sleep(10);
  }
  throw new Error(`pgbouncer ended with ${child.exitCode}`);
}
