import { expect, test } from 'vitest';
import { seededRandom } from '../../src/platform/seeded-random.ts';
import { startCampaign } from '../support/campaign.ts';
import type { LoadEvent } from '../support/load-plan.ts';

const SEED = 77_001;
const KILLS_EACH = process.env['CAMPAIGN'] === 'whole' ? 25 : 5;
const PACE = { burst: 3, everyMs: 25 };

test('two processes that share a database and are killed at random lose and repeat nothing', async () => {
  const campaign = await startCampaign({ processes: 2, targets: chooseTargets });
  const crashes = await campaign.underLoad(SEED, PACE, () =>
    Promise.all(
      campaign.connectors.map((connector, index) => connector.crash(KILLS_EACH, seededRandom(SEED + index))),
    ),
  );
  await campaign.catchUp();

  const { broken, acknowledged } = campaign.summarize();
  for (const { serving } of crashes) expect(serving).toBeGreaterThan(KILLS_EACH / 4);
  expect(broken).toBeGreaterThan(KILLS_EACH);
  expect(acknowledged).toBeGreaterThan(50 * KILLS_EACH);
  for (const { streams } of campaign.readers) expect(streams).toBeGreaterThan(KILLS_EACH / 4);

  expect(await campaign.findViolations()).toEqual([]);
  expect(await Promise.all(campaign.connectors.map((connector) => connector.stop()))).toEqual([0, 0]);
});

/** Half of the messages go to both at once, the others to one; a failed attempt is retried at the other. */
function chooseTargets(webhooks: readonly string[], event: LoadEvent, attempt: number): readonly string[] {
  const number = Number(event.messageId.split('message')[1]);
  if (number % 4 < 2) return webhooks;
  return [webhooks[(number + attempt) % webhooks.length] ?? ''];
}
