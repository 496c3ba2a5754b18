import { expect, onTestFinished, test } from 'vitest';
import { seededRandom } from '../../src/platform/seeded-random.ts';
import { startCampaign } from '../support/campaign.ts';
import { type EarlyAnswers, startEarlyAnswers } from '../support/early-answers.ts';

const SEED = 20_260_115;
/** The short campaign makes half of them, because each kill takes seconds on a busy machine. */
const KILLS = process.env['CAMPAIGN'] === 'whole' ? 50 : 25;
/** Small groups at short intervals, so that most moments have a commit under way. */
const PACE = { burst: 3, everyMs: 25 };

test(`${KILLS} kills lose no acknowledged event and apply none twice`, async () => {
  const campaign = await startCampaign({ processes: 1 });
  const crashes = await campaign.underLoad(SEED, PACE, async () =>
    campaign.connectors[0]?.crash(KILLS, seededRandom(SEED)),
  );
  await campaign.catchUp();

  // The kills took effect: some during startup, some while serving, and some events reached a dead process.
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

test('a receiver that answers before it commits is detected', async () => {
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
  // Its answers prove nothing, so the sender cannot wait for deliveries in transit.
  await broken?.handedOn();
  await campaign.catchUp();
  const found = await campaign.findViolations();
  expect(found.filter(({ rule }) => rule === 'lost')).not.toEqual([]);
  expect(found.filter(({ rule }) => rule !== 'lost')).toEqual([]);
});
