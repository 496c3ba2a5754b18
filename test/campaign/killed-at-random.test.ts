import { expect, onTestFinished, test } from 'vitest';
import { seededRandom } from '../../src/platform/seeded-random.ts';
import { startCampaign } from '../support/campaign.ts';
import { type EarlyAnswers, startEarlyAnswers } from '../support/early-answers.ts';

const SEED = 20_260_115;
/** Half of them in what every change goes through; a kill costs seconds of a busy machine. */
const KILLS = process.env['CAMPAIGN'] === 'whole' ? 50 : 25;
/** Small groups at short intervals, so that most moments have a commit under way. */
const PACE = { burst: 3, everyMs: 25 };

test(`${KILLS} kills lose nothing acknowledged and apply nothing twice`, async () => {
  const campaign = await startCampaign({ processes: 1 });
  const crashes = await campaign.underLoad(SEED, PACE, async () =>
    campaign.connectors[0]?.crash(KILLS, seededRandom(SEED)),
  );
  await campaign.catchUp();

  // The faults hit: lives ended in their start and in service, and events met dead processes.
  const { broken, retried, acknowledged } = campaign.summarize();
  expect(crashes?.starting).toBeGreaterThan(0);
  expect(crashes?.serving).toBeGreaterThan(KILLS / 2);
  expect(broken).toBeGreaterThan(KILLS);
  expect(retried).toBeGreaterThan(KILLS);
  expect(acknowledged).toBeGreaterThan(20 * KILLS);
  expect(campaign.readers[0]?.streams).toBeGreaterThan(KILLS / 4);

  expect(await campaign.findViolations()).toEqual([]);
  expect(await campaign.connectors[0]?.stop()).toBe(0);
});

test('a receiver that answers before it has committed is found out', async () => {
  let broken: EarlyAnswers | undefined;
  const campaign = await startCampaign({
    processes: 1,
    route: async (webhook) => {
      const early = await startEarlyAnswers(webhook);
      onTestFinished(() => early.close());
      broken = early;
      return early.url;
    },
  });
  await campaign.underLoad(SEED, PACE, async () => campaign.connectors[0]?.crash(4, seededRandom(SEED)));
  // Its answers say nothing, so the sender cannot wait for what is still on its way.
  await broken?.handedOn();
  await campaign.catchUp();
  const found = await campaign.findViolations();
  expect(found.filter(({ rule }) => rule === 'lost')).not.toEqual([]);
  expect(found.filter(({ rule }) => rule !== 'lost')).toEqual([]);
});
