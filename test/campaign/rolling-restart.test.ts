import { expect, test } from 'vitest';
import { startCampaign } from '../support/campaign.ts';

const SEED = 31_337;
const ROUNDS = 2;
const PACE = { burst: 6, everyMs: 25 };

test('two processes restarted in turns under load take every event and cut no answer off', async () => {
  const campaign = await startCampaign({
    processes: 2,
    spares: 1,
    keepAlive: false,
    // A balancer in front: each attempt goes to the next process.
    targets: (webhooks, event, attempt) => [webhooks[(event.body.length + attempt) % webhooks.length] ?? ''],
  });
  const exits: (number | NodeJS.Signals)[] = [];
  await campaign.underLoad(SEED, PACE, async () => {
    for (let round = 0; round < ROUNDS; round += 1)
      for (const connector of campaign.connectors) {
        exits.push(await connector.restart());
        // The next one goes when what this one missed has come.
        await campaign.sender.calm();
      }
  });
  await campaign.catchUp();

  const attempts = campaign.sender.sent.flatMap((sent) => sent.attempts);
  const errors = attempts.flatMap(({ error }) => (error === null ? [] : [error]));
  const { sent, acknowledged, retried, answers } = campaign.summarize();
  expect(exits).toEqual(Array.from({ length: 2 * ROUNDS }, () => 0));
  // The restarts were felt: processes were away, and their share went to the other one.
  expect(retried).toBeGreaterThan(10);
  expect(errors).toContain('ECONNREFUSED');
  // The kernel resets what it had accepted for a listener that closes; the process has not seen those requests.
  expect(errors.filter((error) => error !== 'ECONNREFUSED' && error !== 'ECONNRESET')).toEqual([]);
  expect([...answers.keys()]).toEqual([200]);
  expect(acknowledged).toBe(sent);
  expect(await campaign.findViolations()).toEqual([]);
});
