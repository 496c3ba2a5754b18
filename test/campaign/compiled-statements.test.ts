import postgres from 'postgres';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startLoop } from '../../src/commands/loop.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { loopOptions } from '../../src/testing/test-loop.ts';
import { exchangeMessages, readQrConnections } from '../support/exchange-messages.ts';
import { readFeed } from '../support/follow-feed.ts';
import { planLoad } from '../support/load-plan.ts';
import { createLoadSender } from '../support/load-sender.ts';
import { INSTALLED_POSTGRES_MISSING, startOwnPostgres } from '../support/own-postgres.ts';
import { PGBOUNCER, startPgbouncer } from '../support/pgbouncer.ts';
import { createCaller } from '../support/read-lists.ts';

const SECRET = 'whsec_of_a_campaign';
const MESSAGES = 150;
const EVENTS = 1_500;
const BURST = 60;
const SENDS = 30;
/** Server connections behind the pooler. */
const POOLED = 12;

/** Counts compiled statements, including nested ones. */
const SETTINGS = { shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.track': 'all' };

describe('on a Postgres with JIT compilation enabled by default', () => {
  const missing = INSTALLED_POSTGRES_MISSING;
  const title = `no statement of either half is compiled${missing === undefined ? '' : ` (skipped: ${missing})`}`;
  test.skipIf(missing !== undefined)(title, () => expectNoneCompiled(async (url) => url));

  const without = missing ?? (PGBOUNCER === undefined ? 'pgbouncer is not installed' : undefined);
  const pooled = `no statement is compiled behind pgbouncer in transaction mode${without === undefined ? '' : ` (skipped: ${without})`}`;
  test.skipIf(without !== undefined)(pooled, () =>
    expectNoneCompiled(async (url) => {
      const pooler = await startPgbouncer(PGBOUNCER ?? '', url, POOLED);
      onTestFinished(() => pooler.stop());
      return `${pooler.url}?prepare=false`;
    }),
  );
});

async function expectNoneCompiled(route: (url: string) => Promise<string>): Promise<void> {
  const server = await startOwnPostgres({ settings: SETTINGS });
  onTestFinished(() => server.stop());
  const sql = postgres(server.url, { max: 1, prepare: false });
  onTestFinished(() => sql.end());
  await sql`create extension pg_stat_statements`;
  const countCompiled = () => sql<{ query: string; calls: number }[]>`
    select left(query, 200) as query, calls::int4 from pg_stat_statements where jit_functions > 0`;

  const { changes, handed } = await useEverything(await route(server.url));
  expect(handed).toBeGreaterThanOrEqual(changes);
  expect(changes).toBeGreaterThan(EVENTS / 2);
  expect(await countCompiled()).toEqual([]);

  // The positive control: the server can compile.
  await sql`set jit_above_cost = 0`;
  await sql`select count(*) as control from connector.messages`;
  expect(await countCompiled()).toMatchObject([{ query: expect.stringContaining('control') }]);
}

/** Runs the loop with messages in both directions, sends, a poll, dispatch, and webhooks in batches. */
async function useEverything(databaseUrl: string): Promise<{ changes: number; handed: number }> {
  let handed = 0;
  const onChange = async (): Promise<void> => {
    handed += 1;
  };
  const loop = await startLoop(loopOptions(databaseUrl, { webhookSecret: SECRET, handlers: { onChange } }));
  onTestFinished(() => loop.close());
  const { baseUrl, apiKey, sandboxUrl, connectorUrl, connectorToken } = loop.info();
  if (connectorUrl === null || connectorToken === null) throw new Error('the loop has no connector');
  const service = createCaller(baseUrl, apiKey);
  const connector = createCaller(connectorUrl, connectorToken);
  const connectionIds = await readQrConnections(service);
  await exchangeMessages({
    sandbox: createCaller(`${sandboxUrl}/sandbox/v1`),
    service,
    connectionIds,
    phones: ['447700900201', '447700900202'],
    names: Array.from({ length: MESSAGES }, (_, number) => String(number)),
  });
  for (let number = 0; number < SENDS; number += 1) {
    const [connectionId] = connectionIds;
    const reference = `send ${number}`;
    await connector('POST', '/v1/messages', { connectionId, to: '447700900201', text: reference, reference });
  }
  await connector('POST', '/v1/sync', {});

  const targets = (): string[] => [`${connectorUrl}/webhooks/messaging`];
  const sender = createLoadSender({ secret: SECRET, clock: systemClock, targets });
  const events = planLoad({ seed: 1, messages: EVENTS, startAt: systemClock.now() }).slice(0, EVENTS);
  await sender.run(events, { burst: BURST, everyMs: 0 });
  sender.close();
  await loop.settle();
  const { length: changes } = await readFeed(connectorUrl, connectorToken);
  await expect.poll(() => handed, { timeout: 60_000 }).toBeGreaterThanOrEqual(changes);
  return { changes, handed };
}
