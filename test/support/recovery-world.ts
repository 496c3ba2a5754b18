import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import {
  type ConnectorProcess,
  type ConnectorProcessOptions,
  prepareConnector,
} from './connector-process.ts';
import { createTestDatabase } from './database.ts';
import { findFreePort } from './find-free-port.ts';
import { withSql } from './read-connector.ts';
import { type Caller, createCaller } from './read-lists.ts';
import { startTestService } from './service.ts';

const HOUR_MS = 3_600_000;
const TOKEN = 'token-of-the-recovery-for-tests';

/** A call of the handler, as the CRM received it. */
export interface HandlerCall {
  readonly key: string;
  readonly connectionId: string;
  readonly pid: number;
}

/** A CRM that the handlers of all workers call, and that does not answer those of one process. */
export interface Crm {
  readonly calls: readonly HandlerCall[];
  /** Calls of this process hang from now on. */
  hang(pid: number | undefined): void;
}

/** Service, web process, CRM and database; a test starts and kills the workers. */
export interface RecoveryWorld {
  readonly databaseUrl: string;
  readonly sandbox: Caller;
  readonly service: Caller;
  readonly connector: Caller;
  readonly crm: Crm;
  /** A worker that has loaded and waits to start. */
  prepareWorker(): Promise<ConnectorProcess>;
}

const HANDLER = (crmUrl: string): string => `
export const deadlineMs = 600000;
export async function onChange({ connectionId }, { key }) {
  const body = JSON.stringify({ key, connectionId, pid: process.pid });
  await fetch('${crmUrl}', { method: 'POST', body });
}
`;

/** Starts everything, and stops it in `onTestFinished`. */
export async function startRecoveryWorld(
  onTestFinished: TestContext['onTestFinished'],
): Promise<RecoveryWorld> {
  const [test, database, crm] = await Promise.all([
    startTestService({ webhookSecret: 'whsec_of_the_recovery' }),
    createTestDatabase({ connector: true }),
    startCrm(),
  ]);
  onTestFinished(() => database.drop());
  onTestFinished(() => test.close());
  onTestFinished(() => crm.close());
  const folder = mkdtempSync(join(tmpdir(), 'recovery-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const handlers = join(folder, 'handlers.mjs');
  writeFileSync(handlers, HANDLER(crm.url));
  const { info, sandbox, client: service } = test;
  await sandbox('POST', '/clock/advance', { ms: 73 * HOUR_MS });
  const sealingKey = generateSealingKey();

  async function prepare(role: 'web' | 'worker', env: ConnectorProcessOptions['env'] = {}) {
    const process = prepareConnector({
      databaseUrl: database.url,
      apiToken: TOKEN,
      sealingKey,
      port: await findFreePort(),
      env: {
        SERVICE_BASE_URL: info.baseUrl,
        SERVICE_API_KEY: info.apiKey,
        WEBHOOK_PUBLIC_URL: test.service.webhookUrl,
        RECONCILE_INTERVAL_MS: '1000',
        CONNECTOR_ROLE: role,
        ...env,
      },
    });
    onTestFinished(async () => void (await process.kill('SIGKILL')));
    await process.loaded;
    return process;
  }

  const web = await prepare('web');
  web.go();
  await web.ready;
  test.service.attach(web.url);
  return {
    databaseUrl: database.url,
    sandbox,
    service,
    connector: createCaller(web.url, TOKEN),
    crm,
    prepareWorker: () => prepare('worker', { CONNECTOR_HANDLERS: handlers }),
  };
}

async function startCrm(): Promise<Crm & { readonly url: string; close(): Promise<void> }> {
  const calls: HandlerCall[] = [];
  const hanging: ServerResponse[] = [];
  let hung: number | undefined;
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    const call: HandlerCall = JSON.parse(text);
    calls.push(call);
    if (call.pid === hung) hanging.push(response);
    else response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    calls,
    hang(pid) {
      hung = pid;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The heartbeats of a process, read from the database with the database's clock. */
export interface Heartbeats {
  /** Records every heartbeat and every lease that is taken from now on. */
  begin(): Promise<void>;
  /** A running worker that is not among these. */
  findWorker(known: readonly string[]): Promise<string>;
  /** The time of the database, in epoch milliseconds. */
  now(): Promise<number>;
  /** The kinds of work that the process is doing. */
  heldBy(owner: string): Promise<readonly string[]>;
  /** When this process took a lease of this kind after `since`; null: not yet. */
  takenAt(owner: string, kind: string, since: number): Promise<number | null>;
  /**
   * The number of heartbeats between the two times. After a pause of two seconds, counting starts again, as the
   * process starts its observation again.
   */
  count(owner: string, since: number, until: number): Promise<number>;
}

const BLIND_MS = 2_000;

export function watchHeartbeats(databaseUrl: string): Heartbeats {
  const EPOCH_MS = 'extract(epoch from at)::float8 * 1000';
  const ask = <Row extends object>(text: string, params: readonly unknown[] = []): Promise<Row[]> =>
    withSql(
      databaseUrl,
      async (sql) => [...(await sql.unsafe<Row[]>(text, [...params] as never[]))] as Row[],
    );
  return {
    async begin() {
      await ask(`
        create table public.signs (process text, at timestamptz default clock_timestamp());
        create table public.taken (name text, owner text, at timestamptz default clock_timestamp());
        create function public.note_sign() returns trigger language plpgsql as $$
          begin insert into public.signs (process) values (new.id); return new; end $$;
        create function public.note_lease() returns trigger language plpgsql as $$
          begin insert into public.taken (name, owner) values (new.name, new.owner); return new; end $$;
        create trigger note_sign after update on connector.processes for each row execute function public.note_sign();
        create trigger note_lease after insert or update on connector.leases for each row
          execute function public.note_lease();`);
    },
    async findWorker(known) {
      for (;;) {
        const rows = await ask<{ id: string }>(
          'select id from connector.processes where works and beats > 1 and id <> all ($1::text[])',
          [known],
        );
        if (rows[0] !== undefined) return rows[0].id;
        await systemClock.sleep(50);
      }
    },
    async now() {
      const [row] = await ask<{ at: number }>(
        'select extract(epoch from clock_timestamp())::float8 * 1000 as at',
      );
      return row?.at ?? 0;
    },
    async heldBy(owner) {
      const rows = await ask<{ kind: string }>(
        `select distinct split_part(name, ':', 1) as kind from connector.leases where owner = $1`,
        [owner],
      );
      return rows.map(({ kind }) => kind);
    },
    async takenAt(owner, kind, since) {
      const [row] = await ask<{ at: number | null }>(
        `select min(${EPOCH_MS}) as at from public.taken
          where owner = $1 and name like $2 and ${EPOCH_MS} > $3::float8`,
        [owner, `${kind}:%`, since],
      );
      return row?.at ?? null;
    },
    async count(owner, since, until) {
      const rows = await ask<{ at: number }>(
        `select ${EPOCH_MS} as at from public.signs
          where process = $1 and ${EPOCH_MS} <= $2::float8 order by at`,
        [owner, until],
      );
      const times = rows.map(({ at }) => at);
      const blindUntil = times.findLast((at, index) => at - (times[index - 1] ?? at) > BLIND_MS) ?? 0;
      return times.filter((at) => at > Math.max(since, blindUntil)).length;
    },
  };
}
