import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { type Campaign, type LoadSummary, startCampaign } from '../support/campaign.ts';
import { type FaultProxy, startFaultProxyFor } from '../support/fault-proxy.ts';
import { withSql } from '../support/read-connector.ts';

const PACE = { burst: 10, everyMs: 25 };
const BEFORE_MS = 500;
/** The specification's deadline for one attempt. */
const SENDER_DEADLINE_MS = 10_000;
const POSTGRES_PORT = 5_432;

test('freezing and resuming the database loses no acknowledged event and hangs no request', async () => {
  const { campaign, proxy } = await startBehindProxy();
  const during = await strike(campaign, 1, async () => {
    proxy.freeze();
    await systemClock.sleep(7_000);
    proxy.thaw();
  });
  expect(during.answers.get(503)).toBeGreaterThan(0);
  await expectRecovered(campaign, 2);
});

test('repeatedly closing the connections to the database loses no acknowledged event', async () => {
  const { campaign, proxy } = await startBehindProxy();
  await strike(campaign, 3, async () => {
    for (let cuts = 0; cuts < 40; cuts += 1) {
      await systemClock.sleep(50);
      proxy.cut();
    }
  });
  expect(proxy.accepted).toBeGreaterThan(40);
  await expectRecovered(campaign, 4);
});

test('a commit whose answer is lost is repeated and takes effect once', async () => {
  const { campaign, proxy } = await startBehindProxy();
  await strike(campaign, 5, async () => {
    for (let losses = 0; losses < 20 || (losses < 200 && !(await hasRepeats(campaign))); losses += 1) {
      await systemClock.sleep(50);
      proxy.freeze('down');
      await systemClock.sleep(40);
      proxy.cut();
      proxy.thaw();
    }
  });
  expect(await hasRepeats(campaign)).toBe(true);
  await expectRecovered(campaign, 6);
});

test('the connector reconnects to a database that refused connections for two seconds', async () => {
  const { campaign, proxy } = await startBehindProxy();
  const during = await strike(campaign, 7, async () => {
    await proxy.refuse();
    proxy.cut();
    await systemClock.sleep(2_000);
    await felt(campaign);
    await proxy.accept();
  });
  expect(during.answers.get(503)).toBeGreaterThan(0);
  await expectRecovered(campaign, 8);
});

test('deliveries are answered 503 while the database is read-only', async () => {
  const { campaign, proxy } = await startBehindProxy();
  const during = await strike(campaign, 9, async () => {
    await setReadOnly(campaign, true);
    proxy.cut();
    await systemClock.sleep(1_000);
    await felt(campaign);
    await setReadOnly(campaign, false);
  });
  expect(during.answers.get(503)).toBeGreaterThan(0);
  await expectRecovered(campaign, 10);
});

/** Resolves when an attempt has been answered 503, which takes longer on a busy machine. */
async function felt(campaign: Campaign): Promise<void> {
  await expect.poll(() => campaign.sender.answered(503), { timeout: 60_000 }).toBeGreaterThan(0);
}

/** Whether the log contains an event twice, because a commit without an answer was repeated. */
async function hasRepeats({ databaseUrl }: Campaign): Promise<boolean> {
  const [log] = await withSql(
    databaseUrl,
    (sql) => sql`select count(*) > count(distinct body) as repeats from connector.inbox`,
  );
  return log?.['repeats'] === true;
}

async function startBehindProxy(): Promise<{ campaign: Campaign; proxy: FaultProxy }> {
  const started = Promise.withResolvers<FaultProxy>();
  const campaign = await startCampaign({
    processes: 1,
    spares: 0,
    async routeDatabase(url) {
      const proxy = await startFaultProxyFor(url, POSTGRES_PORT);
      onTestFinished(() => proxy.close());
      started.resolve(proxy);
      return proxy.route(url);
    },
  });
  return { campaign, proxy: await started.promise };
}

/** Runs a fault under load. Every request must have been answered, with 200 or 503, within the sender's deadline. */
async function strike(campaign: Campaign, seed: number, fault: () => Promise<void>): Promise<LoadSummary> {
  await campaign.underLoad(seed, PACE, async () => {
    await systemClock.sleep(BEFORE_MS);
    await fault();
  });
  const summary = campaign.summarize();
  expect(summary.broken).toBe(0);
  expect([...summary.answers.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect(summary.slowestMs).toBeLessThan(SENDER_DEADLINE_MS);
  return summary;
}

/** Expects a second without errors, and no violation. */
async function expectRecovered(campaign: Campaign, seed: number): Promise<void> {
  const before = campaign.summarize();
  const healthy = campaign.sender.answered(200);
  await campaign.underLoad(seed, PACE, async () => {
    await systemClock.sleep(1_000);
    await expect
      .poll(() => campaign.sender.answered(200), { timeout: 60_000 })
      .toBeGreaterThan(healthy + 100);
  });
  const after = campaign.summarize();
  expect(after.answers.get(503)).toBe(before.answers.get(503));
  expect(after.broken).toBe(before.broken);
  await campaign.catchUp();
  expect(await campaign.findViolations()).toEqual([]);
}

/** Makes sessions that begin from now on read-only, or writable again. */
function setReadOnly({ databaseUrl }: Campaign, readOnly: boolean): Promise<unknown> {
  const name = new URL(databaseUrl).pathname.slice(1);
  return withSql(databaseUrl, async (sql) => {
    await sql`set default_transaction_read_only = off`;
    await sql.unsafe(`alter database ${name} set default_transaction_read_only = ${readOnly ? 'on' : 'off'}`);
  });
}
