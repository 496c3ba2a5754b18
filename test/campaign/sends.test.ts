import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Outbound } from '../../src/contract/connector/outbound.ts';
import type { Faults } from '../../src/contract/sandbox/faults.ts';
import { ERROR_CODES, ERRORS } from '../../src/contract/service/errors.ts';
import { ruleFor } from '../../src/patterns/send-policy.ts';
import { seededRandom } from '../../src/platform/seeded-random.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { checkFeed } from '../support/check-invariants.ts';
import { type ConnectorLives, startConnectorLives } from '../support/connector-lives.ts';
import { findFreePort } from '../support/find-free-port.ts';
import { readFeed } from '../support/follow-feed.ts';
import { countOpenSends, untilSent, withSql } from '../support/read-connector.ts';
import { createCaller, readAllOutbound } from '../support/read-lists.ts';
import {
  bodyOf,
  checkSends,
  openSendsWorld,
  postUntilTaken,
  type SendKind,
  type SendsWorld,
} from '../support/sends-world.ts';

/*
 * Sends through a complete connector that is killed repeatedly. Outcomes that cannot be determined are counted
 * separately: a file whose answer was lost, or a send in doubt that is then
 * rejected for good, ends as `unknown` and may have been sent once.
 */

/** The whole campaign takes minutes on a busy machine; the short one makes fewer sends and kills. */
const WHOLE = process.env['CAMPAIGN'] === 'whole';
const SENDS = WHOLE ? 1_000 : 120;
const KILLS = WHOLE ? 30 : 4;
const CONNECTIONS = 20;
const SEED = 20_260_115;
const TOKEN = 'token-of-a-campaign-for-tests';
/** A process takes over the work of a killed one after about four seconds, so some live longer than that. */
const BETWEEN_KILLS_MS = 4_000;
const POLL_EVERY_MS = 50;
const NOTHING_ENDS_MS = 3_000;
/** Time between two processes: longer than the wait of any retry or abandoned queue. */
const AHEAD_MS = 6 * 60_000;

const send = { surface: 'api', method: 'POST', path: '/messages' };
/** Faults frequent enough to hit some of several hundred attempts. */
const FREQUENT = new Set(['lost_answer', 'reset', 'delay', 'not_persisted']);
const REFUSALS = ERROR_CODES.map((error) => ({ error, code: ERRORS[error].statuses[0] ?? 500 }));

interface Campaign {
  readonly world: SendsWorld;
  readonly lives: ConnectorLives;
  readonly url: string;
  /** Starts the next process at a later time, which applies to the service as well. */
  later(): Promise<void>;
  /** Moves the time forward by the same amount for the running process. */
  pass(): void;
  post(number: number, kind: SendKind): Promise<void>;
  close(): Promise<void>;
}

let campaign: Campaign;

beforeAll(async () => {
  campaign = await openCampaign();
}, 120_000);
afterAll(() => campaign?.close());

async function openCampaign(): Promise<Campaign> {
  const world = await openSendsWorld(CONNECTIONS);
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const { baseUrl, apiKey, databaseUrl, service, queues, clock } = world;
  const options = {
    databaseUrl,
    port,
    apiToken: TOKEN,
    sealingKeys: [generateSealingKey()],
    service: { baseUrl, apiKey },
    webhookPublicUrl: service.webhookUrl,
    reconcileIntervalMs: 3_600_000,
    inboxRetentionDays: 30,
  };
  service.attach(url);
  const lives = startConnectorLives(options);
  let aheadMs = 0;
  await lives.next(aheadMs);
  await lives.serving();
  await createCaller(url, TOKEN)('POST', '/v1/sync', {});
  return {
    world,
    lives,
    url,
    async later() {
      aheadMs += AHEAD_MS;
      clock.shift(AHEAD_MS);
      await lives.next(aheadMs);
    },
    pass() {
      aheadMs += AHEAD_MS;
      clock.shift(AHEAD_MS);
      lives.pass(AHEAD_MS);
    },
    async post(number, kind) {
      const queue = queues[number % queues.length];
      if (queue !== undefined) await postUntilTaken(url, TOKEN, bodyOf(queue, number, kind));
    },
    async close() {
      await lives.stop();
      await world.close();
    },
  };
}

test('sends on 20 connections survive kills and every response of the service', async () => {
  const { world, lives, url } = campaign;
  const posted = await meetEveryAnswer(campaign);
  await world.sandbox('PUT', '/faults', { seed: SEED, rules: randomFaults() });

  const killing = killAtRandom(campaign);
  const posting = world.queues.map(async (_queue, index) => {
    for (let turn = 0; turn < SENDS / CONNECTIONS; turn += 1) {
      const kind = (turn + index) % 2 === 0 ? 'text' : 'file';
      await campaign.post(posted + index + turn * CONNECTIONS, kind);
    }
  });
  await Promise.all([killing, ...posting]);
  const { rules } = await world.sandbox<Faults>('GET', '/faults');
  await world.sandbox('DELETE', '/faults');
  // Everything that waits is due in the last process.
  await campaign.later();
  await lives.serving();
  await untilAllEnded(campaign);
  await world.service.settle();
  await createCaller(url, TOKEN)('POST', '/v1/sync', {});

  const outbound = await readAllOutbound(createCaller(url, TOKEN));
  expect(outbound).toHaveLength(posted + SENDS);
  const { problems, counts, unknownButArrived } = await checkSends(world, outbound);
  expect(problems).toEqual([]);
  expect(lives.kills).toBe(KILLS + 1);
  expect(rules.filter(({ id, hits }) => FREQUENT.has(id) && hits === 0)).toEqual([]);
  for (const state of ['sent', 'rejected', 'delivered_not_stored']) {
    expect(Object.keys(counts)).toEqual(expect.arrayContaining([`text ${state}`, `file ${state}`]));
  }
  // A text can safely be repeated under its key, so its outcome is always known.
  expect(counts['text unknown']).toBeUndefined();
  const unknown = counts['file unknown'] ?? 0;
  expect(unknown).toBeLessThan((posted + SENDS) * 0.25);
  expect(unknownButArrived).toBeLessThanOrEqual(unknown);
  expect(await compareWithFeed(url, outbound)).toEqual([]);
});

test('a connector that repeats a send with a new key is detected', async () => {
  const { world, lives, post } = campaign;
  await lives.serving();
  await withSql(world.databaseUrl, async (sql) => {
    await sql.unsafe(`
      create function connector.renew_key() returns trigger language plpgsql as $$
      begin new.idempotency_key := gen_random_uuid()::text; return new; end $$;
      create trigger renew_key before update on connector.outbound
        for each row when (new.state = 'queued') execute function connector.renew_key()`);
  });
  const rule = { id: 'lost_answer', match: send, action: { type: 'lost_answer' }, first: 1 };
  await world.sandbox('PUT', '/faults', { seed: SEED, rules: [rule] });
  await post(1_000_000, 'text');
  await untilSent(world.databaseUrl);
  const { problems } = await checkSends(world, []);
  expect(problems).toEqual([expect.stringContaining('received one twice')]);
});

/**
 * Posts a text and a file for each response of the service, one after the other. Resolves with their number.
 * Final errors come first: one in response to the retry of a send in doubt would correctly leave it unknown.
 */
async function meetEveryAnswer({ world, post }: Campaign): Promise<number> {
  const nextOf = ({ error, code }: (typeof REFUSALS)[number]) => ruleFor(error, code).next;
  const isFinal = (refusal: (typeof REFUSALS)[number]): boolean => nextOf(refusal) === 'reject';
  // A rejected credential blocks all sends until the next process tries it again; the kills below cover it.
  const refusals = REFUSALS.filter((refusal) => nextOf(refusal) !== 'hold')
    .toSorted((a, b) => Number(isFinal(b)) - Number(isFinal(a)))
    .map(({ error, code }) => ({ type: 'status', code, error, retryAfter: 0 }));
  const others = ['not_persisted', 'lost_answer', 'reset'].map((type) => ({ type }));
  let number = 0;
  for (const action of [...refusals, ...others]) {
    for (const kind of ['text', 'file'] as const) {
      const rule = { id: 'one', match: send, action, first: 1 };
      await world.sandbox('PUT', '/faults', { seed: SEED, rules: [rule] });
      await post(number++, kind);
      await untilHit(world);
    }
  }
  return number;
}

async function untilHit({ sandbox }: SendsWorld): Promise<void> {
  for (;;) {
    const { rules } = await sandbox<Faults>('GET', '/faults');
    if (rules.every(({ hits }) => hits > 0)) return;
    await systemClock.sleep(POLL_EVERY_MS / 5);
  }
}

/** Lost answers, broken connections, delays, messages that were not stored, and temporary errors. */
function randomFaults() {
  const refusals = REFUSALS.filter(({ error, code }) => ruleFor(error, code).next !== 'reject').map(
    ({ error, code }) => ({
      id: error,
      action: { type: 'status', code, error, retryAfter: 0 },
      probability: 0.02,
    }),
  );
  const others = [
    { id: 'lost_answer', action: { type: 'lost_answer' }, probability: 0.05 },
    { id: 'reset', action: { type: 'reset' }, probability: 0.04 },
    { id: 'delay', action: { type: 'delay', ms: 300 }, probability: 0.1 },
    { id: 'not_persisted', action: { type: 'not_persisted' }, probability: 0.1 },
  ];
  return [...others, ...refusals].map((rule) => ({ ...rule, match: send }));
}

/** Resolves when every send has ended. If none ends, those in doubt wait for the clock, so it is moved forward. */
async function untilAllEnded({ world, pass }: Campaign): Promise<void> {
  await withSql(world.databaseUrl, async (sql) => {
    for (let before = 0, open = -1; open !== 0; before = open) {
      open = await countOpenSends(sql);
      if (open === before) pass();
      await systemClock.sleep(NOTHING_ENDS_MS);
    }
  });
}

async function killAtRandom({ lives, later }: Campaign): Promise<void> {
  const random = seededRandom(SEED);
  for (let kill = 0; kill < KILLS; kill += 1) {
    // Some processes die before they serve.
    if (random() > 0.2) await lives.serving();
    await systemClock.sleep(Math.round(BETWEEN_KILLS_MS * 2 * random()));
    await later();
  }
  await lives.serving();
}

/** What the feed reports wrongly about messages and about the outcome of each send. */
async function compareWithFeed(url: string, outbound: readonly Outbound[]): Promise<readonly unknown[]> {
  const connector = createCaller(url, TOKEN);
  const ends = new Map<string, string>();
  for (let after = 0; ; ) {
    const page = await connector<{ changes: { seq: number; type: string; data: Outbound }[] }>(
      'GET',
      `/v1/changes?after=${after}&limit=500`,
    );
    const last = page.changes.at(-1);
    if (last === undefined) break;
    after = last.seq;
    for (const { type, data } of page.changes) if (type === 'outbound.updated') ends.set(data.id, data.state);
  }
  const wrong = outbound.filter(({ id, state }) => ends.get(id) !== state).map(({ reference }) => reference);
  const messages = (await readFeed(url, TOKEN)).filter(({ messageId }) => messageId !== undefined);
  return [...wrong, ...checkFeed(messages)];
}
