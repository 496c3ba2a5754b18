import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { secretContext } from '../../src/connector/db/sealed-columns.ts';
import { FIRST_SUBSCRIPTION_ID } from '../../src/connector/inbox/subscription-secrets.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { createKeyRing } from '../../src/runtime/sealing/key-ring.ts';
import { type LoadEvent, planLoad } from '../support/load-plan.ts';
import { signDelivery } from '../support/load-sender.ts';
import { proves } from '../support/proves.ts';
import { readStoredState, withSql } from '../support/read-connector.ts';
import { runTestConnector, type TestConnector } from '../support/run-test-connector.ts';

const MINUTE_MS = 60_000;
const OTHER = 'other-subscription';
const OTHER_SECRET = 'whsec_of_another';

let connector: TestConnector;
beforeAll(async () => {
  connector = await runTestConnector({ prepare: addOtherSubscription });
});
afterAll(() => connector.close());

/** Each test uses new events. */
const events = planLoad({ seed: 5, messages: 40, connections: 1_000, startAt: Date.UTC(2026, 0, 15, 12) })
  .filter(({ event }) => event === 'message.received')
  .values();
function nextEvent(): LoadEvent {
  const { value } = events.next();
  if (value === undefined) throw new Error('the plan is used up');
  return value;
}

async function post(url: string, body: string, headers: Record<string, string>): Promise<number> {
  const answer = await fetch(url, { method: 'POST', body, headers });
  await answer.arrayBuffer();
  return answer.status;
}

async function stored({ messageId }: LoadEvent): Promise<boolean> {
  const { messages } = await readStoredState(connector.databaseUrl);
  return messages.some(({ id }) => id === messageId);
}

describe('a delivery signed by a clock that is off', () => {
  test.each([-4, 4])('by %i minutes is accepted', proves('limits.signature-freshness'), async (minutes) => {
    const event = nextEvent();
    const headers = signDelivery(event.body, connector.secret, systemClock.now() + minutes * MINUTE_MS);
    expect(await post(connector.webhook, event.body, headers)).toBe(200);
    expect(await stored(event)).toBe(true);
  });

  test.each([-6, 6])(
    'by %i minutes is rejected and changes nothing',
    proves('delivery.verify.stale', 'limits.signature-freshness'),
    async (minutes) => {
      const event = nextEvent();
      const headers = signDelivery(event.body, connector.secret, systemClock.now() + minutes * MINUTE_MS);
      expect(await post(connector.webhook, event.body, headers)).toBe(401);
      expect(await stored(event)).toBe(false);
    },
  );
});

describe('a replay', () => {
  test('within the window, a hundred times at once, is accepted and changes nothing', async () => {
    const event = nextEvent();
    const headers = signDelivery(event.body, connector.secret, systemClock.now() - 4 * MINUTE_MS);
    const posts = Array.from({ length: 100 }, () => post(connector.webhook, event.body, headers));
    expect(new Set(await Promise.all(posts))).toEqual(new Set([200]));
    await connector.settle();
    const changes = await withSql(
      connector.databaseUrl,
      (sql) => sql`select type from connector.changes where message_id = ${event.messageId}`,
    );
    expect(changes.map(({ type }) => type)).toEqual(['message.created']);
    expect(await logRows(event)).toBe(100);
  });

  test('to another subscription is rejected, although its signature is valid for its own', async () => {
    const event = nextEvent();
    const headers = signDelivery(event.body, connector.secret, systemClock.now());
    expect(await post(`${connector.webhook}/${OTHER}`, event.body, headers)).toBe(401);
    expect(await stored(event)).toBe(false);
    expect(await logRows(event)).toBe(0);

    // The positive control: the same bytes are accepted there if they are signed for it.
    const signed = signDelivery(event.body, OTHER_SECRET, systemClock.now());
    expect(await post(`${connector.webhook}/${OTHER}`, event.body, signed)).toBe(200);
    expect(await post(`${connector.webhook}/${FIRST_SUBSCRIPTION_ID}`, event.body, headers)).toBe(200);
  });

  test('of a message that belongs to another account is logged and changes nothing', async () => {
    const event = nextEvent();
    const mine = signDelivery(event.body, connector.secret, systemClock.now());
    expect(await post(connector.webhook, event.body, mine)).toBe(200);
    const forged = event.body.replace(JSON.stringify(event.text), '"changed by somebody else"');
    expect(forged).not.toBe(event.body);
    const theirs = signDelivery(forged, OTHER_SECRET, systemClock.now());
    expect(await post(`${connector.webhook}/${OTHER}`, forged, theirs)).toBe(200);
    const { messages } = await readStoredState(connector.databaseUrl);
    expect(messages.filter(({ id }) => id === event.messageId).map(({ text }) => text)).toEqual([event.text]);
  });

  test('with the beginning of the body moved into the timestamp is rejected', async () => {
    const body = `1${nextEvent().body}`;
    const now = systemClock.now();
    const headers = signDelivery(body, connector.secret, now);
    const spliced = { ...headers, 'X-Service-Timestamp': `${now}.1` };
    expect(await post(connector.webhook, body.slice(1), spliced)).toBe(401);
  });
});

async function logRows({ messageId }: LoadEvent): Promise<number> {
  const [row] = await withSql(
    connector.databaseUrl,
    (sql) => sql<{ rows: number }[]>`
      select count(*)::int4 as rows from connector.inbox where message_id = ${messageId}`,
  );
  return row?.rows ?? 0;
}

async function addOtherSubscription(databaseUrl: string, sealingKey: string): Promise<void> {
  const sealed = await createKeyRing([sealingKey]).seal(OTHER_SECRET, secretContext(OTHER));
  await withSql(databaseUrl, async (sql) => {
    await sql`insert into connector.subscriptions (id, account_id, sealed_secret, secret_version)
              values (${OTHER}, 'other', ${sealed}, 1)`;
    await sql`insert into connector.accounts (id, kind, subscription_id, created_at)
              values ('other', 'api_key', ${OTHER}, 0)`;
  });
}
