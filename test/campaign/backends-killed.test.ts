import { expect, test } from 'vitest';
import { seededRandom } from '../../src/platform/seeded-random.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { startCampaign } from '../support/campaign.ts';
import { withSql } from '../support/read-connector.ts';

const SEED = 4_711;
const EVERY_MS = 60;
const FOR_MS = 5_000;
const PACE = { burst: 12, everyMs: 25 };
/** Of one attempt, by the specification. */
const SENDER_DEADLINE_MS = 10_000;

test('random backends killed every 60 ms cost no acknowledged event and hang no request', {
  timeout: 120_000,
}, async () => {
  const campaign = await startCampaign({ processes: 1, spares: 0 });
  const killed = await campaign.underLoad(SEED, PACE, () => killBackends(campaign.databaseUrl));
  const during = campaign.summarize();
  expect(killed).toBeGreaterThan(FOR_MS / EVERY_MS / 2);
  expect(during.slowestMs).toBeLessThan(SENDER_DEADLINE_MS);
  expect(during.broken).toBe(0);
  expect([...during.answers.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([]);

  await campaign.underLoad(SEED + 1, PACE, () => systemClock.sleep(1_000));
  const after = campaign.summarize();
  expect(after.answers.get(503)).toBe(during.answers.get(503));
  expect(after.broken).toBe(0);
  expect(after.answers.get(200)).toBeGreaterThan((during.answers.get(200) ?? 0) + 100);

  await campaign.catchUp();
  expect(await campaign.findViolations()).toEqual([]);
  expect(await campaign.connectors[0]?.stop()).toBe(0);
});

/** Ends one random backend of the database after the other, whatever it belongs to. Resolves with how many. */
function killBackends(databaseUrl: string): Promise<number> {
  const random = seededRandom(SEED);
  const end = systemClock.elapsed() + FOR_MS;
  return withSql(databaseUrl, async (sql) => {
    let killed = 0;
    while (systemClock.elapsed() < end) {
      const rows = await sql`
        select pg_terminate_backend(pid) from (
          select pid from (
            select pid, row_number() over (order by pid) - 1 as place, count(*) over () as total
              from pg_stat_activity
             where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
          ) numbered where place = floor(${random()}::float8 * total)
        ) chosen`;
      killed += rows.length;
      await systemClock.sleep(EVERY_MS);
    }
    return killed;
  });
}
