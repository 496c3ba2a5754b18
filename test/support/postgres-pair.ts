import { execFile } from 'node:child_process';
import { chmod, chown, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { chooseAccount } from '../../src/runtime/database/embedded/account.ts';
import { findFreePort } from './find-free-port.ts';
import { requireInstalledPostgres } from './own-postgres.ts';

/** How a primary goes. */
export type Fault = 'kill' | 'freeze' | 'switchover';

interface Server {
  readonly folder: string;
  readonly port: number;
}

/** A primary and its standby on this machine. */
export interface PostgresPair {
  /** Names both servers. */
  readonly url: string;
  /** The primary at the moment. */
  readonly primaryUrl: string;
  /** The standby receives nothing from now on. */
  cutReplication(): Promise<void>;
  /** Takes the primary away and promotes the standby. Resolves when it accepts writes. */
  failOver(fault: Fault): Promise<void>;
  /** Ends the former primary and makes a standby of it. Resolves when it has caught up. */
  rebuild(): Promise<void>;
  stop(): Promise<void>;
}

const run = promisify(execFile);
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: "''",
  fsync: 'off',
  max_wal_senders: '5',
  // A server that starts, and one that lost its primary, try again soon.
  wal_retrieve_retry_interval: '100ms',
  wal_receiver_status_interval: '1s',
};

/** Starts a pair of the distribution's servers. `synchronous`: a commit waits until the standby has it. */
export async function startPostgresPair(synchronous: boolean): Promise<PostgresPair> {
  const bin = join(requireInstalledPostgres().directory, 'bin');
  const folder = await mkdtemp(join(tmpdir(), 'postgres-pair-'));
  const account = await chooseAccount(folder);
  await chmod(folder, 0o755);
  if (account !== undefined) await chown(folder, account.uid, account.gid);
  const as = { cwd: folder, ...(account === undefined ? {} : { uid: account.uid, gid: account.gid }) };
  const call = (program: string, ...args: readonly string[]) => run(join(bin, program), args, as);
  let primary: Server = { folder: join(folder, 'a'), port: await findFreePort() };
  let standby: Server = { folder: join(folder, 'b'), port: await findFreePort() };
  const hosts = [primary, standby].map(({ port }) => `127.0.0.1:${port}`).join(',');
  const urlOf = ({ port }: Server): string => `postgres://postgres@127.0.0.1:${port}/postgres`;

  async function sql(server: Server, ...statements: readonly string[]): Promise<void> {
    const client = postgres(urlOf(server), { max: 1, onnotice: () => undefined });
    try {
      for (const statement of statements) await client.unsafe(statement);
    } finally {
      await client.end({ timeout: 1 });
    }
  }

  async function start({ folder: data, port }: Server): Promise<void> {
    const settings = Object.entries({ ...SETTINGS, port }).map(([name, value]) => `-c ${name}=${value}`);
    await call('pg_ctl', '-D', data, '-l', `${data}.log`, '-w', '-o', settings.join(' '), 'start');
  }

  async function addStandby(): Promise<void> {
    await rm(standby.folder, { recursive: true, force: true });
    const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'postgres'];
    await call(
      'pg_basebackup',
      ...from,
      '-D',
      standby.folder,
      '-R',
      '-X',
      'stream',
      '-c',
      'fast',
      '--no-sync',
    );
    await start(standby);
    const client = postgres(urlOf(primary), { max: 1 });
    try {
      for (;;) {
        const rows = await client`select 1 from pg_stat_replication where state = 'streaming'`;
        if (rows.length > 0) break;
        await systemClock.sleep(20);
      }
    } finally {
      await client.end({ timeout: 1 });
    }
    await synchronize(primary, synchronous);
  }

  async function synchronize(server: Server, on: boolean): Promise<void> {
    await sql(
      server,
      `alter system set synchronous_standby_names = '${on ? '*' : ''}'`,
      'select pg_reload_conf()',
    );
  }

  async function signalAll({ folder: data }: Server, signal: NodeJS.Signals): Promise<void> {
    const postmaster = Number.parseInt(await readFile(join(data, 'postmaster.pid'), 'utf8'), 10);
    const children = await readFile(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').catch(
      () => '',
    );
    for (const pid of [postmaster, ...children.split(' ').filter(Boolean).map(Number)]) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has ended.
      }
    }
  }

  await call(
    'initdb',
    '-D',
    primary.folder,
    '-U',
    'postgres',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--locale=C',
    '--no-sync',
  );
  await start(primary);
  await addStandby();

  return {
    url: `postgres://postgres@${hosts}/postgres?target_session_attrs=read-write`,
    get primaryUrl() {
      return urlOf(primary);
    },
    cutReplication: () =>
      sql(standby, `alter system set primary_conninfo = 'host=127.0.0.1 port=1'`, 'select pg_reload_conf()'),
    async failOver(fault) {
      if (fault === 'switchover') await call('pg_ctl', '-D', primary.folder, '-m', 'fast', '-w', 'stop');
      else await signalAll(primary, fault === 'kill' ? 'SIGKILL' : 'SIGSTOP');
      await call('pg_ctl', '-D', standby.folder, '-w', 'promote');
      [primary, standby] = [standby, primary];
      await synchronize(primary, false);
    },
    async rebuild() {
      await signalAll(standby, 'SIGKILL').catch(() => undefined);
      await addStandby();
    },
    async stop() {
      for (const server of [primary, standby]) await signalAll(server, 'SIGKILL').catch(() => undefined);
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    },
  };
}
