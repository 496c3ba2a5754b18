import { createServer } from 'node:net';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Clock } from '../../../src/runtime/clock/clock.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { type Database, openDatabase } from '../../../src/runtime/database/database.ts';
import {
  describeLocation,
  driverUrl,
  hostsOf,
  isDatabaseUrl,
  leavesMachine,
  withDatabase,
} from '../../../src/runtime/database/database-url.ts';
import { DatabaseUnavailable } from '../../../src/runtime/database/errors.ts';
import { startListener } from '../../../src/runtime/database/listener.ts';
import { tryHosts } from '../../../src/runtime/database/try-hosts.ts';
import { asAdmin, createTestDatabase, openPool } from '../../support/database.ts';
import { type FaultProxy, startFaultProxyFor } from '../../support/fault-proxy.ts';
import { logTo } from '../../support/log-to.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { ofFile } from '../../support/of-file.ts';
import { serve } from '../../support/serve.ts';

describe('a database URL', () => {
  it.each([
    ['postgres://u:p@h1:5432,h2:5433/db?target_session_attrs=read-write', ['h1:5432', 'h2:5433']],
    ['postgresql://h1,h2:6000/db', ['h1:5432', 'h2:6000']],
    ['postgres://u@[::1]:5433,[2001:db8::2]/db', ['::1:5433', '2001:db8::2:5432']],
    ['postgres://u@127.0.0.1/db', ['127.0.0.1:5432']],
  ])('has hosts, each with its port: %s', (url, expected) => {
    expect(isDatabaseUrl(url)).toBe(true);
    const targets = hostsOf(url).map(({ target }) =>
      'host' in target ? `${target.host}:${target.port}` : '',
    );
    expect(targets).toEqual(expected);
  });

  it('can name the folder of a Unix socket', () => {
    expect(hostsOf('postgres://u@%2Fvar%2Frun%2Fpostgresql:5433/db').map(({ target }) => target)).toEqual([
      { path: '/var/run/postgresql/.s.PGSQL.5433' },
    ]);
  });

  it.each([
    'postgres://h1,,h2/db',
    'postgres://u@,h2/db',
    'postgres://h1:a,h2/db',
    'postgres://[::1/db',
    'mysql://h',
    'postgres://u:100%@h/db',
    'postgres://u:p%zz@h/db',
  ])('is refused: %s', (url) => {
    expect(isDatabaseUrl(url)).toBe(false);
  });

  it.each([0, 1])('is worth waiting for if one host is, here host %i', async (away) => {
    const hosts = ['none-1', 'none-2'];
    const attempt = tryHosts(`postgres://${hosts.join(',')}/db`, ({ target }) => {
      const isAway = 'host' in target && target.host === hosts[away];
      throw new DatabaseUnavailable(isAway ? 'unreachable' : 'authentication', 'no');
    });
    await expect(attempt).rejects.toMatchObject({ reason: 'unreachable', permanent: false });
  });

  it('is described with all hosts, without user and password', () => {
    expect(describeLocation('postgres://u:secret@h1:5432,[::1]:5433/db?sslmode=require')).toBe(
      'h1:5432,[::1]:5433/db',
    );
  });

  it('keeps everything but the database', () => {
    expect(withDatabase('postgres://u:p@h1:1,h2:2/old?sslmode=require', 'new')).toBe(
      'postgres://u:p@h1:1,h2:2/new?sslmode=require',
    );
    expect(withDatabase('postgres://u:p@h1', 'new')).toBe('postgres://u:p@h1/new');
  });

  it('reaches the driver without hosts and without what the driver or the server would interpret', () => {
    expect(driverUrl('postgres://u:p%40@h1:1,h2:2/db?target_session_attrs=any&prepare=false')).toBe(
      'postgres://u:p%40@localhost/db?prepare=false',
    );
  });

  it('leaves the machine if one of its hosts does', () => {
    expect(leavesMachine('postgres://u@127.0.0.1:5432,[::1]:5433/db')).toBe(false);
    expect(leavesMachine('postgres://u@127.0.0.1:5432,[2001:db8::2]:5433/db')).toBe(true);
  });
});

describe('several hosts', () => {
  const test = ofFile(createTestDatabase, (made) => made.drop());
  const SERVER_PORT = 5432;

  interface Way {
    readonly proxy: FaultProxy;
    readonly host: string;
    /** True: sessions that begin from now on believe that the server is a standby. */
    standby: boolean;
  }

  /** A way to the server of the test. */
  async function startWay(): Promise<Way> {
    const way = { standby: false };
    const proxy = await startFaultProxyFor(test.url, SERVER_PORT, (chunk, direction) =>
      way.standby && direction === 'up'
        ? Buffer.from(
            chunk.toString('latin1').replace('pg_is_in_recovery()', '(1 < 2)            '),
            'latin1',
          )
        : chunk,
    );
    onTestFinished(() => proxy.close());
    return Object.assign(way, { proxy, host: `127.0.0.1:${proxy.port}` });
  }

  /** Accepts connections and never answers, like a stopped process. */
  async function startFrozen(): Promise<string> {
    const { port, close } = await serve(createServer());
    onTestFinished(close);
    return `127.0.0.1:${port}`;
  }

  function urlOf(...hosts: readonly string[]): string {
    return test.url.replace(new URL(test.url).host, hosts.join(','));
  }

  function open(url: string, lines: string[] = []): Database {
    const database = openDatabase({
      url,
      name: 'hosts-test',
      poolSize: 3,
      clock: systemClock,
      logger: logTo('warn', (line) => lines.push(line)),
    });
    onTestFinished(() => database.close());
    return database;
  }

  const ONE = [{ one: 1 }];
  const SELECT = 'select 1 as one';

  it('a standby is not used: the next host is', async () => {
    const [first, second] = [await startWay(), await startWay()];
    first.standby = true;
    const database = open(`${urlOf(first.host, second.host)}?target_session_attrs=read-write`);
    expect(await database.query(SELECT)).toEqual(ONE);
    expect(second.proxy.connections).toBe(1);
  });

  it('the only host is refused if it is a standby, and the error says what to do', async () => {
    const only = await startWay();
    only.standby = true;
    const failure = open(urlOf(only.host)).query(SELECT);
    await expect(failure).rejects.toMatchObject({ reason: 'not_ready', permanent: false });
    await expect(failure).rejects.toThrow(
      new RegExp(
        `cannot use Postgres at ${only.host}/.*: it is a standby; name the primary in the URL, or all servers`,
      ),
    );
  });

  it('a host that accepts connections but does not answer costs two seconds, once', async () => {
    const frozen = await startFrozen();
    const way = await startWay();
    const database = open(urlOf(frozen, way.host));
    const begun = systemClock.elapsed();
    expect(await database.query(SELECT)).toEqual(ONE);
    const first = systemClock.elapsed() - begun;
    expect(first).toBeGreaterThan(1_900);
    expect(first).toBeLessThan(4_500);
    way.proxy.cut();
    await expect.poll(() => database.health.open).toBe(0);
    const again = systemClock.elapsed();
    expect(await database.query(SELECT)).toEqual(ONE);
    expect(systemClock.elapsed() - again).toBeLessThan(1_500);
  });

  it('after a promotion, sessions of the former primary end, and the log names the new one', async () => {
    const lines: string[] = [];
    const [first, second] = [await startWay(), await startWay()];
    second.standby = true;
    const database = open(urlOf(first.host, second.host), lines);
    await Promise.all(Array.from({ length: 3 }, () => database.query('select pg_sleep(0.05)')));
    expect([first.proxy.connections, second.proxy.connections]).toEqual([3, 0]);
    second.standby = false;
    await first.proxy.refuse();
    first.proxy.cut();
    await expect.poll(() => database.query(SELECT).catch(() => [])).toEqual(ONE);
    expect(second.proxy.connections).toBeGreaterThan(0);
    expect(lines.join()).toContain(`"host":"${second.host}"`);
    expect(lines.join()).toContain('the database is now used at another host');
  });

  it('idle sessions on another host than the newest are not used again', async () => {
    const [first, second] = [await startWay(), await startWay()];
    const database = open(urlOf(first.host, second.host));
    await database.query(SELECT);
    // It still has a session, but accepts no more, and the second one has become the primary.
    await first.proxy.refuse();
    const answers = await Promise.allSettled(
      Array.from({ length: 3 }, () => database.query('select pg_sleep(0.2), 1 as one')),
    );
    expect(answers.some(({ status }) => status === 'fulfilled')).toBe(true);
    await expect.poll(() => first.proxy.connections).toBe(0);
    expect(await database.query(SELECT)).toEqual(ONE);
  });

  it('the error names each host and what is wrong there', async () => {
    const way = await startWay();
    way.standby = true;
    const refusing = await startWay();
    await refusing.proxy.refuse();
    const failure = open(urlOf(refusing.host, way.host)).query(SELECT);
    await expect(failure).rejects.toMatchObject({ reason: 'not_ready', permanent: false });
    await expect(failure).rejects.toThrow(
      new RegExp(
        `${refusing.host}/.*nothing is listening there.*; cannot use Postgres at ${way.host}/.*standby`,
      ),
    );
  });

  it('notifications are received from the host that is no standby', async () => {
    const [first, second] = [await startWay(), await startWay()];
    first.standby = true;
    const heard = Promise.withResolvers<string>();
    const listener = startListener({
      url: urlOf(first.host, second.host),
      name: 'hosts-test',
      channel: 'news',
      clock: systemClock,
      onPayload: heard.resolve,
      onError: heard.reject,
    });
    onTestFinished(() => listener.close());
    const database = open(test.url);
    let told = false;
    void heard.promise.finally(() => {
      told = true;
    });
    await expect
      .poll(async () => {
        await database.query("select pg_notify('news', 'hello')");
        return told;
      })
      .toBe(true);
    expect(await heard.promise).toBe('hello');
  });

  it('a connection for notifications that is lost is opened again soon, however often', async () => {
    const way = await startWay();
    const waits: number[] = [];
    const clock: Clock = {
      ...systemClock,
      after(ms, run, options) {
        if (ms < 3_000) waits.push(ms);
        return systemClock.after(ms, run, options);
      },
    };
    let heard = 0;
    const listener = startListener({
      url: urlOf(way.host),
      name: 'hosts-test',
      channel: 'again',
      clock,
      onPayload: () => {
        heard += 1;
      },
      onError: () => undefined,
    });
    onTestFinished(() => listener.close());
    const database = open(test.url);
    for (let times = 0; times < 3; times += 1) {
      const before = heard;
      await expect
        .poll(async () => {
          await database.query("select pg_notify('again', '')");
          return heard;
        })
        .toBeGreaterThan(before);
      waits.length = 0;
      way.proxy.cut();
      await expect.poll(() => waits.length).toBe(1);
      expect(waits).toEqual([100]);
    }
  });

  it('a connection for notifications that falls silent is replaced', async () => {
    const way = await startWay();
    const clock = new ManualClock();
    let heard = 0;
    const failures: unknown[] = [];
    const listener = startListener({
      url: urlOf(way.host),
      name: 'hosts-test',
      channel: 'silence',
      clock,
      onPayload: () => {
        heard += 1;
      },
      onError: (error) => failures.push(error),
    });
    onTestFinished(() => listener.close());
    const database = open(test.url);
    await expect
      .poll(async () => {
        await database.query("select pg_notify('silence', '')");
        return heard;
      })
      .toBeGreaterThan(0);
    way.proxy.freeze();
    onTestFinished(() => way.proxy.thaw());
    await clock.advance(10_000);
    await expect.poll(() => clock.advance(3_000).then(() => failures.length)).toBeGreaterThan(0);
  });

  it('is cancelled at the host where it runs', async () => {
    const [first, second] = [await startWay(), await startWay()];
    first.standby = true;
    const database = open(urlOf(first.host, second.host));
    const late = database.query('select pg_sleep(100)', [], { deadlineMs: 400 });
    await expect(late).rejects.toMatchObject({ name: 'QueryDeadlineExceeded' });
    const name = new URL(test.url).pathname.slice(1);
    const running = () =>
      asAdmin(
        (sql) => sql`select 1 from pg_stat_activity where datname = ${name} and query like '%pg_sleep(100)%'
                      and state = 'active' and pid <> pg_backend_pid()`,
      );
    await expect.poll(async () => (await running()).length).toBe(0);
  });
});

describe('the encoding of a database', () => {
  const made: string[] = [];
  afterAll(() =>
    asAdmin(async (sql) => {
      for (const name of made) await sql.unsafe(`drop database ${name} with (force)`);
    }),
  );

  async function openEncoded(encoding: string): Promise<Database> {
    const test = await createTestDatabase();
    onTestFinished(() => test.drop());
    const name = `encoded_${Math.random().toString(36).slice(2)}`;
    made.push(name);
    await asAdmin((sql) =>
      sql.unsafe(`create database ${name} template template0 encoding '${encoding}' locale 'C'`),
    );
    const url = withDatabase(test.url, name);
    const database = openPool(url);
    onTestFinished(() => database.close());
    return database;
  }

  it.each(['LATIN1', 'EUC_JP', 'WIN1252'])('%s is refused: it cannot store every text', async (encoding) => {
    const database = await openEncoded(encoding);
    await expect(database.query('select 1')).rejects.toMatchObject({
      reason: 'unsupported_encoding',
      permanent: true,
      message: expect.stringContaining(`has the encoding ${encoding}`),
    });
  });

  it('SQL_ASCII is accepted: it stores the bytes of UTF-8 as they are', async () => {
    const database = await openEncoded('SQL_ASCII');
    const text = 'Grüße, 日本 🎉';
    expect(
      await database.query(`select $1::text as text, $2::jsonb as data, left($1, 3000) as cut`, [
        text,
        JSON.stringify({ text }),
      ]),
    ).toEqual([{ text, data: { text }, cut: text }]);
  });
});
