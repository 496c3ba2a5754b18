import { expect, test } from 'vitest';
import { startCampaign } from '../support/campaign.ts';

const SEED = 31_337;
const ROUNDS = 2;
const PACE = { burst: 6, everyMs: 25 };

test('two processes restarted in turn under load accept every event and complete every answer', async () => {
  const campaign = await startCampaign({
    processes: 2,
    spares: 1,
    keepAlive: false,
    // As a load balancer does: each attempt goes to the next process.
    targets: (webhooks, event, attempt) => [webhooks[(event.body.length + attempt) % webhooks.length] ?? ''],
  });
  const exits: (number | NodeJS.Signals)[] = [];
  await campaign.underLoad(SEED, PACE, async () => {
    for (let round = 0; round < ROUNDS; round += 1)
      for (const connector of campaign.connectors) {
        exits.push(await connector.restart());
        // The next one restarts when the events that this one missed have arrived.
        await campaign.sender.calm();
      }
  });
  await campaign.catchUp();

  const attempts = campaign.sender.sent.flatMap((sent) => sent.attempts);
  const errors = attempts.flatMap(({ error }) => (error === null ? [] : [error]));
  const { sent, acknowledged, retried, answers } = campaign.summarize();
  expect(exits).toEqual(Array.from({ length: 2 * ROUNDS }, () => 0));
  // The restarts took effect: while a process was down, its events went to the other one.
  expect(retried).toBeGreaterThan(10);
  expect(errors).toContain('ECONNREFUSED');
  // The kernel resets connections that a closed listener had not accepted; the process never saw those requests.
  expect(errors.filter((error) => error !== 'ECONNREFUSED' && error !== 'ECONNRESET')).toEqual([]);
  expect([...answers.keys()]).toEqual([200]);
  expect(acknowledged).toBe(sent);
  expect(await campaign.findViolations()).toEqual([]);
});
