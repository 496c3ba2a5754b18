import { kill } from 'node:process';
import { type TestContext, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { type FaultProxy, startFaultProxyFor } from '../support/fault-proxy.ts';
import { signDelivery } from '../support/load-sender.ts';
import { withSql } from '../support/read-connector.ts';
import { runTestConnector, type TestConnector } from '../support/run-test-connector.ts';

/** How long the service waits for an answer. */
const LONGEST_ANSWER_MS = 10_000;
/** Longer than the connector caches secrets, and than a sender waits. */
const OUTAGE_MS = 12_000;
const EVERY_MS = 250;

interface Answered {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly ms: number;
}

interface Silent extends TestConnector {
  readonly proxy: FaultProxy;
}

async function start({ onTestFinished }: TestContext): Promise<Silent> {
  const routed = Promise.withResolvers<FaultProxy>();
  const connector = await runTestConnector({
    role: 'web',
    async routeDatabase(url) {
      const proxy = await startFaultProxyFor(url, 5_432);
      routed.resolve(proxy);
      return proxy.route(url);
    },
  });
  const proxy = await routed.promise;
  onTestFinished(async () => {
    proxy.thaw();
    await connector.close();
    await proxy.close();
  });
  return { ...connector, proxy };
}

/** Delivers once; `secret` may be unknown to the connector. */
async function deliver({ webhook, secret }: TestConnector, as = secret): Promise<Answered> {
  const body = JSON.stringify({ event: 'test.unknown', at: systemClock.elapsed() });
  const begun = systemClock.elapsed();
  const answer = await fetch(webhook, {
    method: 'POST',
    body,
    headers: signDelivery(body, as, systemClock.now()),
  });
  await answer.arrayBuffer();
  return {
    status: answer.status,
    retryAfter: answer.headers.get('retry-after'),
    ms: systemClock.elapsed() - begun,
  };
}

/** Delivers continuously during an outage. */
async function deliverDuring(connector: TestConnector, as?: string): Promise<Answered[]> {
  const answers: Promise<Answered>[] = [];
  const end = systemClock.elapsed() + OUTAGE_MS;
  while (systemClock.elapsed() < end) {
    answers.push(deliver(connector, as), deliver(connector, as));
    await systemClock.sleep(EVERY_MS);
  }
  return await Promise.all(answers);
}

function expectQuickRefusals({ expect }: TestContext, answers: readonly Answered[]): void {
  expect(answers.length).toBeGreaterThan(20);
  expect(new Set(answers.map(({ status, retryAfter }) => `${status} ${retryAfter}`))).toEqual(
    new Set(['503 1']),
  );
  expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(LONGEST_ANSWER_MS);
}

async function expectRecovered({ expect }: TestContext, connector: TestConnector): Promise<void> {
  await expect.poll(async () => (await deliver(connector)).status, { timeout: 30_000 }).toBe(200);
}

/** Locks a table exclusively until the returned function is called. */
async function lockTable({ databaseUrl }: TestConnector, table: string): Promise<() => Promise<void>> {
  const locked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const holding = withSql(databaseUrl, (sql) =>
    sql.begin(async (tx) => {
      await tx.unsafe(`lock table ${table} in access exclusive mode`);
      locked.resolve();
      await released.promise;
    }),
  );
  await Promise.race([locked.promise, holding]);
  return async () => {
    released.resolve();
    await holding;
  };
}

test.concurrent.for(['both', 'up', 'down'] as const)(
  'a network to the database that drops packets (%s) leaves no delivery without an answer',
  async (direction, context) => {
    const { expect } = context;
    const connector = await start(context);
    expect((await deliver(connector)).status).toBe(200);
    connector.proxy.freeze(direction);
    expectQuickRefusals(context, await deliverDuring(connector));
    connector.proxy.thaw();
    await expectRecovered(context, connector);
  },
);

test.concurrent('a delivery signed with an unknown secret is answered 503 while newer secrets cannot be read', async (context) => {
  const { expect } = context;
  const connector = await start(context);
  expect((await deliver(connector, 'another secret')).status).toBe(401);
  connector.proxy.freeze();
  expectQuickRefusals(context, await deliverDuring(connector, 'another secret'));
  connector.proxy.thaw();
  await expect
    .poll(async () => (await deliver(connector, 'another secret')).status, { timeout: 30_000 })
    .toBe(401);
});

test.concurrent('stopped backends leave no delivery unanswered', async (context) => {
  const { expect } = context;
  const connector = await start(context);
  expect((await deliver(connector)).status).toBe(200);
  const backends = await withSql(
    connector.databaseUrl,
    (sql) => sql<{ pid: number }[]>`select pid from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
  );
  for (const { pid } of backends) kill(pid, 'SIGSTOP');
  try {
    const answers = await deliverDuring(connector);
    // New backends respond, so the connector soon reconnects.
    expect(answers.at(-1)?.status).toBe(200);
    expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(LONGEST_ANSWER_MS);
    for (const { status } of answers) expect([200, 503]).toContain(status);
  } finally {
    for (const { pid } of backends) kill(pid, 'SIGCONT');
  }
});

test.concurrent('a lock on the log leaves no delivery unanswered', async (context) => {
  const connector = await start(context);
  const release = await lockTable(connector, 'connector.inbox');
  expectQuickRefusals(context, await deliverDuring(connector));
  await release();
  await expectRecovered(context, connector);
});

test.concurrent('a lock on the subscriptions stops no delivery, because secrets are cached', async (context) => {
  const { expect } = context;
  const connector = await start(context);
  const release = await lockTable(connector, 'connector.subscriptions');
  const answers = await deliverDuring(connector);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(LONGEST_ANSWER_MS);
  await release();
});

test.concurrent('a hundred API requests that wait for the database delay no delivery', async (context) => {
  const { expect } = context;
  const connector = await start(context);
  const release = await lockTable(connector, 'connector.dead_letters');
  const readers = Array.from({ length: 100 }, async () => {
    const answer = await fetch(`${connector.url}/v1/dead-letters`, {
      headers: { authorization: `Bearer ${connector.token}` },
    });
    return answer.status;
  });
  await systemClock.sleep(500);
  for (let sent = 0; sent < 20; sent += 1) {
    const { status, ms } = await deliver(connector);
    expect(status).toBe(200);
    expect(ms).toBeLessThan(2_000);
  }
  await release();
  await Promise.all(readers);
});
