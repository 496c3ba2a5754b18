import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { checkFeed, type FeedChange } from '../support/check-invariants.ts';
import { readFeed } from '../support/follow-feed.ts';
import { type LoadEvent, type LoadStatus, writeBody } from '../support/load-plan.ts';
import { createLoadSender } from '../support/load-sender.ts';
import { readStoredState } from '../support/read-connector.ts';
import { runTestConnector, type TestConnector } from '../support/run-test-connector.ts';

const STATUSES: readonly LoadStatus[] = ['sent', 'delivered', 'read', 'failed'];
const MAX_EVENTS = 5;
const PACE = { burst: 128, everyMs: 0 };
const T0 = Date.UTC(2026, 0, 15, 12);

/** Every sequence of one to five statuses, with repeats: 4 + 16 + 64 + 256 + 1024. */
const SEQUENCES = sequences(MAX_EVENTS);

/** By the specification: a status only rises, and nothing follows `read` or `failed`. */
const LADDER: Readonly<Record<LoadStatus, readonly LoadStatus[]>> = {
  sent: ['delivered', 'read', 'failed'],
  delivered: ['read', 'failed'],
  read: [],
  failed: [],
};

describe(`all ${SEQUENCES.length} orders of up to ${MAX_EVENTS} status events`, () => {
  let connector: TestConnector;
  beforeAll(async () => {
    connector = await runTestConnector();
  });
  afterAll(() => connector.close());

  test('report exactly the rises if each event is acknowledged before the next', async () => {
    const sender = createLoadSender({ ...connector, clock: systemClock, targets: () => [connector.webhook] });
    for (let place = 0; place < MAX_EVENTS; place += 1) {
      const round = SEQUENCES.flatMap((sequence, number) =>
        statusEvent(`one-${number}`, sequence[place], place),
      );
      await sender.run(round, PACE);
    }
    sender.close();
    await connector.settle();
    expect(sender.sent.every(({ acknowledged }) => acknowledged)).toBe(true);
    const feed = await readFeed(connector.url, connector.token);
    expect(checkFeed(feed)).toEqual([]);
    const reported = statusesByMessage(feed);
    SEQUENCES.forEach((sequence, number) => {
      expect([sequence, reported.get(`one-${number}`)]).toEqual([sequence, risesOf(sequence)]);
    });
  });

  test('end at the highest status if all events of a message arrive at once', async () => {
    const sender = createLoadSender({ ...connector, clock: systemClock, targets: () => [connector.webhook] });
    const events = SEQUENCES.flatMap((sequence, number) =>
      sequence.flatMap((status, place) => statusEvent(`all-${number}`, status, place)),
    );
    await sender.run(events, PACE);
    sender.close();
    await connector.settle();
    expect(sender.sent.every(({ acknowledged }) => acknowledged)).toBe(true);
    expect(checkFeed(await readFeed(connector.url, connector.token))).toEqual([]);
    const { messages } = await readStoredState(connector.databaseUrl);
    const stored = new Map(messages.map(({ id, status }) => [id, status]));
    SEQUENCES.forEach((sequence, number) => {
      const ends: readonly (LoadStatus | null | undefined)[] = possibleEnds(sequence);
      expect([sequence, ends.includes(stored.get(`all-${number}`))]).toEqual([sequence, true]);
    });
  });
});

function sequences(most: number): LoadStatus[][] {
  const found: LoadStatus[][] = [];
  let longest: LoadStatus[][] = [[]];
  for (let length = 1; length <= most; length += 1) {
    longest = longest.flatMap((sequence) => STATUSES.map((status) => [...sequence, status]));
    found.push(...longest);
  }
  return found;
}

function statusEvent(messageId: string, status: LoadStatus | undefined, place: number): LoadEvent[] {
  if (status === undefined) return [];
  const content = {
    event: 'message.status',
    connectionId: 'orders',
    messageId,
    from: null,
    text: null,
    status,
  } as const;
  return [{ ...content, copies: 1, body: writeBody(content, T0 + place) }];
}

function risesOf(sequence: readonly LoadStatus[]): LoadStatus[] {
  const rises: LoadStatus[] = [];
  for (const status of sequence) {
    const last = rises.at(-1);
    if (last === undefined || LADDER[last].includes(status)) rises.push(status);
  }
  return rises;
}

/** `read` and `failed` exclude each other; the one that is merged first remains. */
function possibleEnds(sequence: readonly LoadStatus[]): LoadStatus[] {
  const finals = (['read', 'failed'] as const).filter((status) => sequence.includes(status));
  if (finals.length > 0) return finals;
  return [sequence.includes('delivered') ? 'delivered' : 'sent'];
}

function statusesByMessage(feed: readonly FeedChange[]): Map<string, LoadStatus[]> {
  const reported = new Map<string, LoadStatus[]>();
  for (const { messageId, status } of feed) {
    if (messageId === null || status === null) continue;
    reported.set(messageId, [...(reported.get(messageId) ?? []), status]);
  }
  return reported;
}
