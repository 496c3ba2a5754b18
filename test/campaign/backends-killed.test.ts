import { describe, expect, onTestFinished, test } from 'vitest';
import { seededRandom } from '../../src/platform/seeded-random.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { type Campaign, startCampaign, TOKEN } from '../support/campaign.ts';
import { killBackends } from '../support/kill-backends.ts';
import { PGBOUNCER, startPgbouncer } from '../support/pgbouncer.ts';

const SEED = 4_711;
const EVERY_MS = 60;
const FOR_MS = 5_000;
const PACE = { burst: 12, everyMs: 25 };
/** The specification's deadline for one attempt. */
const SENDER_DEADLINE_MS = 10_000;
/** Server connections behind the pooler. */
const POOLED = 8;

describe('killing a random backend every 60 ms', () => {
  test('loses no acknowledged event and hangs no request', async () => {
    await survive(await startCampaign({ processes: 1, spares: 0 }));
  });

  const title = `loses no acknowledged event and hangs no request behind pgbouncer in transaction mode${PGBOUNCER === undefined ? ' (skipped: not installed)' : ''}`;
  test.skipIf(PGBOUNCER === undefined)(title, async () => {
    const campaign = await startCampaign({
      processes: 1,
      spares: 0,
      async routeDatabase(url) {
        const pooler = await startPgbouncer(PGBOUNCER ?? '', url, POOLED);
        onTestFinished(() => pooler.stop());
        return `${pooler.url}?prepare=false`;
      },
    });
    await survive(campaign);
  });
});

async function survive(campaign: Campaign): Promise<void> {
  const killed = await campaign.underLoad(SEED, PACE, () =>
    killBackends(campaign.databaseUrl, { everyMs: EVERY_MS, forMs: FOR_MS, random: seededRandom(SEED) }),
  );
  const during = campaign.summarize();
  expect(killed).toBeGreaterThan(FOR_MS / EVERY_MS / 3);
  expect(await countFailedCommits(campaign.url)).toBeGreaterThan(0);
  expect(during.slowestMs).toBeLessThan(SENDER_DEADLINE_MS);
  expect(during.broken).toBe(0);
  expect([...during.answers.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([]);

  const healthy = campaign.sender.answered(200);
  await campaign.underLoad(SEED + 1, PACE, async () => {
    await systemClock.sleep(1_000);
    await expect
      .poll(() => campaign.sender.answered(200), { timeout: 60_000 })
      .toBeGreaterThan(healthy + 100);
  });
  const after = campaign.summarize();
  expect(after.answers.get(503)).toBe(during.answers.get(503));
  expect(after.broken).toBe(0);

  await campaign.catchUp();
  expect(await campaign.findViolations()).toEqual([]);
  expect(await campaign.connectors[0]?.stop()).toBe(0);
}

/** Failed and retried commits, as counted by the connector. They prove that kills hit some. */
async function countFailedCommits(url: string): Promise<number> {
  const metrics = await (
    await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
  ).text();
  const counts = metrics.matchAll(/^connector_webhook_commit_failures_total\{.*\} (\d+)$/gm);
  return [...counts].reduce((total, [, count]) => total + Number(count), 0);
}
