import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import { describe, expect, inject, it } from 'vitest';
import { type DatabaseOptions, DatabaseUnavailable } from '../../../src/runtime/database/database.ts';
import { withDatabase } from '../../../src/runtime/database/database-url.ts';
import { asAdmin, createTestDatabase, openPool } from '../../support/database.ts';
import { startFaultProxyFor } from '../../support/fault-proxy.ts';
import { ofFile } from '../../support/of-file.ts';
import { serve } from '../../support/serve.ts';

/** The error of the first query on this URL. */
async function failureOf(url: string, options: Partial<DatabaseOptions> = {}): Promise<DatabaseUnavailable> {
  const database = openPool(url, { poolSize: 2, ...options });
  try {
    const failure = await database.query('select 1').then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(DatabaseUnavailable);
    return failure as DatabaseUnavailable;
  } finally {
    await database.close();
  }
}

async function findClosedPort(): Promise<number> {
  const { port, close } = await serve(createServer());
  await close();
  return port;
}

describe('connecting', () => {
  const test = ofFile(createTestDatabase, (made) => made.drop());

  it.each(['', 'localhost', 'http://localhost/x', 'postgres://user:p%zz@host:port/x', 'postgres://'])(
    'rejects the malformed URL %j when opening, and shows the expected form',
    (url) => {
      const open = (): unknown => openPool(url);
      expect(open).toThrow(/postgres:\/\/user:password@host:5432\/database/);
    },
  );

  it('reports that nothing listens there', async () => {
    const port = await findClosedPort();
    const failure = await failureOf(`postgres://me:secret-4711@127.0.0.1:${port}/base`);
    expect(failure).toMatchObject({ reason: 'refused', permanent: false, code: 'ECONNREFUSED' });
    expect(failure.message).toMatch(/127\.0\.0\.1:\d+\/base as me: nothing is listening there/);
    expect(failure.message).not.toContain('secret-4711');
  });

  it('reports that the host name is unknown', async () => {
    const failure = await failureOf('postgres://me@no-such-host.invalid/base');
    expect(failure.reason).toBe('unreachable');
    expect(failure.message).toMatch(/host name/);
  });

  it('reports that the password is wrong', async ({ skip }) => {
    const url = new URL(test.url);
    skip(url.password === '', 'this server asks for no password');
    url.password = 'wrong';
    const failure = await failureOf(url.toString());
    expect(failure).toMatchObject({ reason: 'authentication', permanent: true, code: '28P01' });
    expect(failure.message).toMatch(/the password is wrong, or the user does not exist/);
  });

  it('reports that the user does not exist, as far as the server tells', async () => {
    const url = new URL(test.url);
    url.username = 'no_such_user';
    const failure = await failureOf(url.toString());
    expect(failure).toMatchObject({ reason: 'authentication', permanent: true });
    expect(failure.message).toMatch(/as no_such_user: .*the user does not exist/);
  });

  it('reports that the database does not exist', async () => {
    const failure = await failureOf(withDatabase(test.url, 'no_such_database'));
    expect(failure).toMatchObject({ reason: 'missing_database', permanent: true });
    expect(failure.message).toMatch(/create it/);
  });

  it('reports which limit of connections is reached', async () => {
    const role = `limited_${randomUUID().slice(0, 8)}`;
    await asAdmin((admin) => admin.unsafe(`create role ${role} login password 'x' connection limit 0`));
    const url = Object.assign(new URL(test.url), { username: role, password: 'x' });
    const failure = await failureOf(url.toString());
    await asAdmin((admin) => admin.unsafe(`drop role ${role}`));
    expect(failure).toMatchObject({ reason: 'too_many_connections', permanent: false, code: '53300' });
    expect(failure.message).toContain(`too many connections for role "${role}"`);
  });

  it('rejects a server older than 15, and names both versions', async () => {
    const proxy = await startFaultProxyFor(test.url, 5432, (chunk) =>
      Buffer.from(chunk.toString('latin1').replace(/(server_version\0)\d\d/, '$114'), 'latin1'),
    );
    const failure = await failureOf(proxy.route(test.url));
    expect(failure).toMatchObject({ reason: 'unsupported_version', permanent: true });
    expect(failure.message).toMatch(/Postgres 14.* is too old; version 15 or newer/);
    await proxy.close();
  });

  it('advises how to run behind a pooler that refuses session settings', async () => {
    const proxy = await startFaultProxyFor(test.url, 5432, (chunk, direction) =>
      direction === 'up'
        ? Buffer.from(chunk.toString('latin1').replace('lock_timeout', 'lock_tim\0out'), 'latin1')
        : chunk,
    );
    const failure = await failureOf(proxy.route(test.url));
    expect(failure.message).toMatch(/\?prepare=false/);
    await proxy.close();
  });

  it('fails if the server accepts the connection but sends nothing', async () => {
    const proxy = await startFaultProxyFor(test.url, 5432);
    proxy.freeze();
    const database = openPool(proxy.route(test.url));
    await expect(database.query('select 1', [], { deadlineMs: 200 })).rejects.toMatchObject({
      name: 'QueryDeadlineExceeded',
      mayHaveCommitted: false,
    });
    // Does not wait for an answer.
    await database.close();
    await proxy.close();
  });

  it('fails without retrying if the server closes every connection at once', async () => {
    let accepted = 0;
    const server = createServer((socket) => {
      accepted += 1;
      socket.destroy();
    });
    const { port, close } = await serve(server);
    const failure = await failureOf(`postgres://me@127.0.0.1:${port}/base`);
    expect(failure.reason).toBe('lost');
    expect(accepted).toBe(1);
    await close();
  });

  it('waits for its own connections if the server grants fewer than it wants', async () => {
    const user = `few_${Math.random().toString(36).slice(2)}`;
    await asAdmin((sql) => sql.unsafe(`create role ${user} login password 'x' connection limit 2`));
    const url = new URL(test.url);
    url.username = user;
    url.password = 'x';
    const database = openPool(url.toString(), { poolSize: 8 });
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        database.query<{ i: number }>('select $1::int as i, pg_sleep(0.01)', [i]),
      ),
    );
    expect(answers.map(([row]) => row?.i)).toEqual(Array.from({ length: 40 }, (_, i) => i));
    expect(database.health.open).toBeLessThanOrEqual(2);
    await database.close();
    await asAdmin((sql) => sql.unsafe(`drop role ${user}`));
  });

  it('fails all callers at once while the server is down, and works again when it is back', async () => {
    const proxy = await startFaultProxyFor(test.url, 5432);
    const database = openPool(proxy.route(test.url), { poolSize: 3 });
    await database.ping();
    await proxy.refuse();
    proxy.cut();
    const outcomes = await Promise.allSettled(Array.from({ length: 200 }, () => database.query('select 1')));
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
    await proxy.accept();
    expect(await database.query('select 1 as one')).toEqual([{ one: 1 }]);
    await database.close();
    await proxy.close();
  });

  it('serves the first caller after the server is back, although none has connected before', async () => {
    const proxy = await startFaultProxyFor(test.url, 5432);
    await proxy.refuse();
    const database = openPool(proxy.route(test.url));
    await expect(database.query('select 1')).rejects.toBeInstanceOf(DatabaseUnavailable);
    await proxy.accept();
    expect(await database.query('select 1 as one', [], { deadlineMs: 2_000 })).toEqual([{ one: 1 }]);
    await database.close();
    await proxy.close();
  });

  it('ignores the environment variables of libpq', async () => {
    expect(inject('databaseUrl')).toContain('@');
    const before = process.env['PGDATABASE'];
    process.env['PGDATABASE'] = 'no_such_database';
    const database = openPool(test.url);
    const [row] = await database.query('select current_database() as name');
    expect(row?.['name']).toBe(new URL(test.url).pathname.slice(1));
    await database.close();
    if (before === undefined) delete process.env['PGDATABASE'];
    else process.env['PGDATABASE'] = before;
  });
});
