import { chown, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../../src/runtime/database/database.ts';
import { tlsOf } from '../../../src/runtime/database/tls.ts';
import { createLogger, type Logger } from '../../../src/runtime/logger/logger.ts';
import { openPool } from '../../support/database.ts';
import { startFaultProxyFor } from '../../support/fault-proxy.ts';
import { logTo } from '../../support/log-to.ts';
import { startOwnPostgres } from '../../support/own-postgres.ts';
import { withSql } from '../../support/read-connector.ts';
import { TEST_CERTIFICATE } from '../../support/tls-certificate.ts';

const logger = createLogger({ level: 'silent', name: 'test' });
/** The beginning of a cancel request: its length and 80877102. */
const CANCEL = Buffer.from([0, 0, 0, 16, 4, 210, 22, 46]);
const PROTECTED = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()';
const POSTGRES_PORT = 5_432;

function open(url: string, log: Logger = logger): Database {
  const database = openPool(url, { name: 'tls-test', logger: log });
  onTestFinished(() => database.close());
  return database;
}

describe('a Postgres with an untrusted certificate', () => {
  let url: string;

  beforeAll(async () => {
    const server = await startOwnPostgres();
    const { uid, gid } = await stat(join(server.location, 'cluster'));
    for (const [name, text] of [
      ['server.crt', TEST_CERTIFICATE.cert],
      ['server.key', TEST_CERTIFICATE.key],
    ] as const) {
      const path = join(server.location, 'cluster', name);
      await writeFile(path, text, { mode: 0o600 });
      await chown(path, uid, gid);
    }
    await withSql(server.url, async (sql) => {
      await sql`alter system set ssl = on`;
      await sql`select pg_reload_conf()`;
    });
    url = server.url;
    return () => server.stop();
  });

  it.each([
    ['', false],
    ['?sslmode=disable', false],
    ['?sslmode=prefer', true],
    ['?sslmode=require', true],
  ])('is used with %j: encrypted %j', async (mode, ssl) => {
    expect(await open(`${url}${mode}`).query(PROTECTED)).toEqual([{ ssl }]);
  });

  it.each(['verify-ca', 'verify-full', 'verify-everything'])('is refused with sslmode=%s', async (mode) => {
    const strict = `${url}?sslmode=${mode}`;
    const refusal = open(strict).ping();
    await expect(refusal).rejects.toMatchObject({ reason: 'rejected_session', permanent: true });
    await expect(refusal).rejects.toThrow(/NODE_EXTRA_CA_CERTS.*sslmode=verify-full, require or disable/);
  });

  it.each([
    ['require', false],
    ['prefer', false],
    ['disable', true],
  ])('receives cancel requests like the session, sslmode=%s: in the clear %j', async (mode, inTheClear) => {
    const sent: Buffer[] = [];
    const proxy = await startFaultProxyFor(url, POSTGRES_PORT, (chunk, direction) => {
      if (direction === 'up') sent.push(chunk);
      return chunk;
    });
    onTestFinished(() => proxy.close());
    const database = open(`${proxy.route(url)}?sslmode=${mode}`);
    await database.ping();
    const late = database.query('select pg_sleep(100)', [], { deadlineMs: 200 });
    await expect(late).rejects.toMatchObject({ name: 'QueryDeadlineExceeded' });
    const running = () =>
      withSql(
        url,
        (sql) => sql`select 1 from pg_stat_activity
                      where state = 'active' and query like '%pg_sleep(100)%' and pid <> pg_backend_pid()`,
      );
    await expect.poll(running).toEqual([]);
    expect(sent.some((chunk) => chunk.includes(CANCEL))).toBe(inTheClear);
  });
});

describe('a Postgres on another machine', () => {
  function warningsOf(url: string): string[] {
    const lines: string[] = [];
    open(
      url,
      logTo('warn', (line) => lines.push(line)),
    );
    return lines.map((line) => String(JSON.parse(line).msg));
  }

  it.each([
    'postgres://user:secret@db.example/messaging',
    'postgres://user:secret@localhost:5432,10.0.0.5:5432/messaging',
    'postgres://user:secret@localhost.example/messaging?prepare=false',
  ])('causes a warning without sslmode: %s', (url) => {
    expect(warningsOf(url)).toEqual([
      expect.stringMatching(/not encrypted; add \?sslmode=verify-full to DATABASE_URL/),
    ]);
  });

  it.each(['require', 'prefer'])('causes a warning if its certificate is not checked: sslmode=%s', (mode) => {
    expect(warningsOf(`postgres://user:secret@db.example/messaging?sslmode=${mode}`)).toEqual([
      expect.stringMatching(/set sslmode=verify-full/),
    ]);
  });

  it.each([
    'postgres://user:secret@db.example/messaging?sslmode=verify-full',
    'postgres://user:secret@db.example/messaging?sslmode=disable',
    'postgres://user:secret@127.0.0.1/messaging',
    'postgres://user:secret@127.3.2.1:6432/messaging?prepare=false',
    'postgres://localhost/messaging',
    'postgres://user:secret@[::1]:5432/messaging',
    'postgres://user:secret@%2Fvar%2Frun%2Fpostgresql/messaging',
  ])('causes no warning if the mode is explicit or the server is local: %s', (url) => {
    expect(warningsOf(url)).toEqual([]);
  });
});

it('an unknown mode counts as the strictest one', () => {
  expect(tlsOf('postgres://h/d?sslmode=sure')).toEqual({});
  expect(tlsOf('postgres://h/d?ssl=true')).toEqual({});
});
