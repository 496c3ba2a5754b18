import { describe, expect, test } from 'vitest';
import {
  checkEffects,
  checkFeed,
  checkFinalStates,
  checkFollowed,
  type FeedChange,
  type LoadOutcome,
  type MessageState,
  type ToldEvent,
} from '../support/check-invariants.ts';

const incoming: MessageState = {
  connectionId: 'c1',
  id: 'in',
  direction: 'incoming',
  peer: '447700900201',
  text: 'Hello',
  mediaUrl: null,
  status: null,
};
const outgoing: MessageState = { ...incoming, id: 'out', direction: 'outgoing', text: null, status: 'read' };

const created: FeedChange = {
  seq: 1,
  type: 'message.created',
  connectionId: 'c1',
  messageId: 'in',
  status: null,
  previous: null,
};
const sentFirst: FeedChange = { ...created, seq: 2, messageId: 'out', status: 'sent' };
const delivered: FeedChange = {
  ...created,
  seq: 3,
  type: 'message.status',
  messageId: 'out',
  status: 'delivered',
  previous: 'sent',
};
const read: FeedChange = { ...delivered, seq: 4, status: 'read', previous: 'delivered' };
const feed = [created, sentFirst, delivered, read];

const received: ToldEvent = {
  connectionId: 'c1',
  messageId: 'in',
  status: null,
  from: '447700900201',
  text: 'Hello',
  body: 'received',
  acknowledged: true,
};
const status = (reached: 'sent' | 'delivered' | 'read' | 'failed', acknowledged = true): ToldEvent => ({
  ...received,
  messageId: 'out',
  status: reached,
  from: null,
  text: null,
  body: reached,
  acknowledged,
});
const good: LoadOutcome = {
  told: [received, status('sent'), status('delivered'), status('read')],
  messages: [incoming, outgoing],
  feed,
  logged: new Set(['received', 'sent', 'delivered', 'read']),
};

const rules = (found: readonly { rule: string }[]): string[] =>
  [...new Set(found.map(({ rule }) => rule))].sort();

describe('the check of a feed', () => {
  test('passes a feed that keeps its promises', () => {
    expect(checkFeed(feed)).toEqual([]);
  });

  test('finds a planted gap, a planted repeat of a number, and a change without one', () => {
    expect(rules(checkFeed([created, { ...sentFirst, seq: 3 }]))).toEqual(['gap']);
    expect(rules(checkFeed([created, { ...sentFirst, seq: 1 }]))).toEqual(['gap']);
    expect(rules(checkFeed([created, { ...sentFirst, seq: null }]))).toEqual(['gap']);
  });

  test('finds a message created twice, and one told of before its creation', () => {
    expect(rules(checkFeed([created, { ...created, seq: 2 }]))).toEqual(['repeated']);
    expect(rules(checkFeed([{ ...delivered, seq: 1 }]))).toEqual(['gap']);
  });

  test('finds a status told twice', () => {
    const again = { ...delivered, seq: 4, previous: 'delivered' as const };
    expect(rules(checkFeed([created, sentFirst, delivered, again]))).toEqual(['repeated']);
  });

  test.each([
    ['delivered', 'sent'],
    ['read', 'delivered'],
    ['read', 'failed'],
    ['failed', 'read'],
    ['failed', 'sent'],
  ] as const)('finds a status fallen from %s to %s', (before, after) => {
    const first = { ...sentFirst, seq: 1, status: before };
    const second = { ...delivered, seq: 2, status: after, previous: before };
    expect(rules(checkFeed([first, second]))).toEqual(['fallen']);
  });

  test('finds a change that names another status before it than was told', () => {
    expect(rules(checkFeed([created, sentFirst, { ...read, seq: 3, previous: 'delivered' }]))).toEqual([
      'different',
    ]);
  });
});

describe('the check of a reader', () => {
  test('passes one that has read all, and one that has read the beginning', () => {
    expect(checkFollowed(feed, feed)).toEqual([]);
    expect(checkFollowed(feed.slice(0, 2), feed)).toEqual([]);
  });

  test('finds a change that was skipped, read twice, or read otherwise', () => {
    expect(rules(checkFollowed([created, delivered], feed))).toEqual(['gap']);
    expect(rules(checkFollowed([created, created, sentFirst], feed))).toEqual(['gap']);
    expect(rules(checkFollowed([{ ...created, messageId: 'other' }], feed))).toEqual(['different']);
    expect(rules(checkFollowed([...feed, { ...created, seq: 5 }], feed))).toEqual(['different']);
  });
});

describe('the check of effects', () => {
  test('passes when every acknowledged event has its effect', () => {
    expect(checkEffects(good)).toEqual([]);
  });

  test('passes an unacknowledged event with its effect, and one without', () => {
    expect(checkEffects({ ...good, told: [{ ...received, acknowledged: false }, status('read')] })).toEqual(
      [],
    );
    expect(
      checkEffects({ ...good, told: [...good.told, { ...received, messageId: 'x', acknowledged: false }] }),
    ).toEqual([]);
  });

  test('finds a planted loss of a message, of a status, of a raw body, of a change', () => {
    expect(rules(checkEffects({ ...good, messages: [outgoing] }))).toEqual(['lost']);
    const late = { ...outgoing, status: 'delivered' as const };
    expect(
      rules(checkEffects({ ...good, messages: [incoming, late], feed: [created, sentFirst, delivered] })),
    ).toEqual(['lost']);
    expect(rules(checkEffects({ ...good, logged: new Set(['received', 'sent', 'read']) }))).toEqual(['lost']);
    expect(rules(checkEffects({ ...good, feed: feed.slice(1) }))).toEqual(['lost']);
  });

  test('finds a planted repeat in the store', () => {
    expect(rules(checkEffects({ ...good, messages: [incoming, incoming, outgoing] }))).toEqual(['repeated']);
  });

  test('finds a message and a status that nobody told', () => {
    expect(rules(checkEffects({ ...good, messages: [...good.messages, { ...incoming, id: 'x' }] }))).toEqual([
      'invented',
    ]);
    const told = [received, status('sent'), status('delivered')];
    expect(rules(checkEffects({ ...good, told }))).toEqual(['invented']);
  });

  test('finds a message stored otherwise than it was told, and a feed that says otherwise than the store', () => {
    const messages = [{ ...incoming, text: 'Hallo' }, outgoing];
    expect(rules(checkEffects({ ...good, messages }))).toEqual(['different']);
    expect(rules(checkEffects({ ...good, feed: feed.slice(0, 3) }))).toEqual(['different']);
  });
});

describe('the check of final states', () => {
  const truth = [incoming, outgoing];

  test('passes equal stores, whoever names the peer', () => {
    expect(checkFinalStates([{ ...incoming, peer: null }, outgoing], truth)).toEqual([]);
  });

  test('finds a message that is missing, too many, or twice', () => {
    expect(rules(checkFinalStates([incoming], truth))).toEqual(['lost']);
    expect(rules(checkFinalStates([...truth, { ...incoming, id: 'x' }], truth))).toEqual(['invented']);
    expect(rules(checkFinalStates([...truth, incoming], truth))).toEqual(['repeated']);
  });

  test('finds a status that is behind, ahead or another, and another text, direction or media', () => {
    const behind = { ...outgoing, status: 'sent' as const };
    expect(rules(checkFinalStates([incoming, behind], truth))).toEqual(['different']);
    expect(rules(checkFinalStates([incoming, outgoing], [incoming, behind]))).toEqual(['invented']);
    expect(rules(checkFinalStates([incoming, { ...outgoing, status: 'failed' }], truth))).toEqual([
      'different',
    ]);
    expect(rules(checkFinalStates([{ ...incoming, text: 'x' }, outgoing], truth))).toEqual(['different']);
    expect(rules(checkFinalStates([{ ...incoming, direction: 'outgoing' }, outgoing], truth))).toEqual([
      'different',
    ]);
    expect(rules(checkFinalStates([{ ...incoming, mediaUrl: 'https://x' }, outgoing], truth))).toEqual([
      'different',
    ]);
  });
});
