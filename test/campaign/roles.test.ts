import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { checkEffects, checkFeed, checkFinalStates } from '../support/check-invariants.ts';
import { type CrmSender, startCrmSender } from '../support/crm-sender.ts';
import { readFeed } from '../support/follow-feed.ts';
import { HAPROXY_MISSING } from '../support/haproxy.ts';
import { planLoad } from '../support/load-plan.ts';
import type { LoadSender } from '../support/load-sender.ts';
import { readStoredState, untilSent } from '../support/read-connector.ts';
import { readAllEntries, readAllMessages, readAllOutbound } from '../support/read-lists.ts';
import { REDIS_MISSING } from '../support/redis.ts';
import { type RolesWorld, startRolesWorld, TOKEN } from '../support/roles-world.ts';

/** The short campaign makes one round. */
const ROUNDS = process.env['CAMPAIGN'] === 'whole' ? 8 : 1;
const TIMEOUT_MS = 1_800_000;
const MESSAGES = 60_000;
const HOUR_MS = 3_600_000;
const PACE = { burst: 1, everyMs: 25 };
const SEND_EVERY_MS = 400;
const MISSING = HAPROXY_MISSING ?? REDIS_MISSING;

describe.skipIf(MISSING !== undefined)(
  `two web processes behind a proxy and two workers${MISSING === undefined ? '' : ` (${MISSING})`}`,
  () => {
    test('lose and repeat nothing when each is killed, and reject nothing when all are restarted', {
      timeout: TIMEOUT_MS,
    }, async ({ onTestFinished }) => {
      const world = await startRolesWorld(onTestFinished);
      const { webs, workers, proxy } = world;
      const [crashes, restarts] = [world.createSender(), world.createSender()];
      const crm = startCrmSender({
        url: proxy.url,
        token: TOKEN,
        queues: world.queues,
        everyMs: SEND_EVERY_MS,
      });
      onTestFinished(() => crm.stop());

      const exits: (number | NodeJS.Signals)[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        await underLoad(crashes, 2 * round, async () => {
          await Promise.all([webs[round % 2]?.kill(), workers[round % 2]?.kill()]);
        });
        await proxy.allUp();
        await underLoad(restarts, 2 * round + 1, async () => {
          for (const each of [...webs, ...workers]) {
            exits.push(await each.restart());
            // As `docker compose up --wait` does: the next one restarts when this one serves.
            await proxy.allUp();
          }
        });
      }
      await crm.stop();
      await untilSent(world.databaseUrl);
      await world.settle();
      await world.connector('POST', '/v1/sync', {});

      expect(exits).toEqual(exits.map(() => 0));
      expect(exits).toHaveLength(4 * ROUNDS);
      // The restarts took effect: the proxy sent requests again because a web process was down.
      expect(await proxy.repeated()).toBeGreaterThan(0);
      const refused = restarts.sent
        .flatMap(({ attempts }) => attempts)
        .filter(({ status }) => status !== 200);
      expect(refused).toEqual([]);
      expect(restarts.sent.length).toBeGreaterThan(50);
      for (const { acknowledged } of [...crashes.sent, ...restarts.sent]) expect(acknowledged).toBe(true);
      await expectSends(world, crm);
      await expectNoViolation(world, [crashes, restarts]);
    });
  },
);

/** Sends webhooks until `faults` resolves. Each seed gives different events. */
async function underLoad(sender: LoadSender, seed: number, faults: () => Promise<void>): Promise<void> {
  const over = new AbortController();
  const startAt = systemClock.now() - HOUR_MS;
  const load = sender.run(planLoad({ seed, messages: MESSAGES, startAt }), PACE, over.signal);
  try {
    await faults();
  } finally {
    over.abort();
    await load;
  }
}

/** Every send that the CRM had accepted is sent, and each contact received theirs once and in order. */
async function expectSends({ connector, sandbox, queues }: RolesWorld, crm: CrmSender): Promise<void> {
  const outbound = await readAllOutbound(connector);
  expect(outbound.filter(({ state }) => state !== 'sent')).toEqual([]);
  for (const { connectionId, phone } of queues) {
    const taken = crm.taken.get(connectionId) ?? [];
    expect(taken.length).toBeGreaterThan(5);
    const received = await readAllEntries<{ text: string }>(sandbox, `/contacts/${phone}/messages?limit=100`);
    expect(received.map(({ text }) => text)).toEqual(taken);
  }
}

/** Events of the load come from the senders only; all other messages come from the service. */
async function expectNoViolation(world: RolesWorld, senders: readonly LoadSender[]): Promise<void> {
  const isLoad = ({ connectionId }: { readonly connectionId: string }): boolean =>
    connectionId.startsWith('load');
  const feed = await readFeed(world.proxy.url, TOKEN);
  const { messages, logged, unnumbered } = await readStoredState(world.databaseUrl);
  const sent = senders.flatMap(({ sent }) =>
    sent.map(({ event, acknowledged }) => ({ ...event, acknowledged })),
  );
  expect(unnumbered).toBe(0);
  expect(checkFeed(feed)).toEqual([]);
  expect(
    checkEffects({ sent, messages: messages.filter(isLoad), feed: feed.filter(isLoad), logged }),
  ).toEqual([]);
  const truth = await readAllMessages(world.service, '/messages?limit=100');
  expect(
    checkFinalStates(
      messages.filter((message) => !isLoad(message)),
      truth,
    ),
  ).toEqual([]);
}
