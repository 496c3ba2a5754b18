import { expect, test } from 'vitest';
import { seededRandom } from '../../src/platform/seeded-random.ts';
import { startCampaign } from '../support/campaign.ts';
import type { LoadEvent } from '../support/load-plan.ts';

const SEED = 77_001;
/** Of each process. The short campaign makes few, because each kill takes seconds on a busy machine. */
const KILLS = process.env['CAMPAIGN'] === 'whole' ? 25 : 5;
/** Small groups at short intervals, so that most moments have a commit under way. */
const PACE = { burst: 3, everyMs: 25 };

test(`${KILLS} kills of each of two processes lose no acknowledged event and apply none twice`, async () => {
  const campaign = await startCampaign({ processes: 2, targets: chooseTargets });
  const crashes = await campaign.underLoad(SEED, PACE, () =>
    Promise.all(
      campaign.connectors.map((connector, index) => connector.crash(KILLS, seededRandom(SEED + index))),
    ),
  );
  await campaign.catchUp();

  // The kills took effect: some during startup, some while serving, and some events reached a dead process.
  const { broken, retried, acknowledged } = campaign.summarize();
  expect(crashes.reduce((sum, { starting }) => sum + starting, 0)).toBeGreaterThan(0);
  for (const { serving } of crashes) expect(serving).toBeGreaterThan(KILLS / 4);
  expect(broken).toBeGreaterThan(KILLS);
  expect(retried).toBeGreaterThan(KILLS);
  expect(acknowledged).toBeGreaterThan(50 * KILLS);
  for (const { streams } of campaign.readers) expect(streams).toBeGreaterThan(KILLS / 4);

  expect(await campaign.findViolations()).toEqual([]);
  expect(await Promise.all(campaign.connectors.map((connector) => connector.stop()))).toEqual([0, 0]);
});

/** Half of the messages go to both at once, the others to one; a failed attempt is retried at the other. */
function chooseTargets(webhooks: readonly string[], event: LoadEvent, attempt: number): readonly string[] {
  const number = Number(event.messageId.split('message')[1]);
  if (number % 4 < 2) return webhooks;
  return [webhooks[(number + attempt) % webhooks.length] ?? ''];
}
