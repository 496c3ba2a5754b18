import { describe, expect, test } from 'vitest';
import {
  checkEffects,
  checkFeed,
  checkFinalStates,
  checkFollowed,
  type FeedChange,
  type LoadOutcome,
  type MessageState,
  type SentEvent,
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

const received: SentEvent = {
  connectionId: 'c1',
  messageId: 'in',
  status: null,
  from: '447700900201',
  text: 'Hello',
  body: 'received',
  acknowledged: true,
};
const status = (reached: 'sent' | 'delivered' | 'read' | 'failed', acknowledged = true): SentEvent => ({
  ...received,
  messageId: 'out',
  status: reached,
  from: null,
  text: null,
  body: reached,
  acknowledged,
});
const good: LoadOutcome = {
  sent: [received, status('sent'), status('delivered'), status('read')],
  messages: [incoming, outgoing],
  feed,
  logged: new Set(['received', 'sent', 'delivered', 'read']),
};

const rules = (found: readonly { rule: string }[]): string[] =>
  [...new Set(found.map(({ rule }) => rule))].sort();

describe('the check of a feed', () => {
  test('passes a valid feed', () => {
    expect(checkFeed(feed)).toEqual([]);
  });

  test('finds a gap, a repeated number, and a change without a number', () => {
    expect(rules(checkFeed([created, { ...sentFirst, seq: 3 }]))).toEqual(['gap']);
    expect(rules(checkFeed([created, { ...sentFirst, seq: 1 }]))).toEqual(['gap']);
    expect(rules(checkFeed([created, { ...sentFirst, seq: null }]))).toEqual(['gap']);
  });

  test('finds a message created twice, and a status that precedes the creation of its message', () => {
    expect(rules(checkFeed([created, { ...created, seq: 2 }]))).toEqual(['repeated']);
    expect(rules(checkFeed([{ ...delivered, seq: 1 }]))).toEqual(['gap']);
  });

  test('finds a repeated status', () => {
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

  test('finds a change whose previous status is not the one that was reported before', () => {
    expect(rules(checkFeed([created, sentFirst, { ...read, seq: 3, previous: 'delivered' }]))).toEqual([
      'different',
    ]);
  });
});

describe('the check of a reader', () => {
  test('passes a reader of the whole feed, and a reader of its beginning', () => {
    expect(checkFollowed(feed, feed)).toEqual([]);
    expect(checkFollowed(feed.slice(0, 2), feed)).toEqual([]);
  });

  test('finds a change that was skipped, read twice, or read with different content', () => {
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

  test('passes an unacknowledged event with or without its effect', () => {
    expect(checkEffects({ ...good, sent: [{ ...received, acknowledged: false }, status('read')] })).toEqual(
      [],
    );
    expect(
      checkEffects({ ...good, sent: [...good.sent, { ...received, messageId: 'x', acknowledged: false }] }),
    ).toEqual([]);
  });

  test('finds a lost message, status, raw body or change', () => {
    expect(rules(checkEffects({ ...good, messages: [outgoing] }))).toEqual(['lost']);
    const late = { ...outgoing, status: 'delivered' as const };
    expect(
      rules(checkEffects({ ...good, messages: [incoming, late], feed: [created, sentFirst, delivered] })),
    ).toEqual(['lost']);
    expect(rules(checkEffects({ ...good, logged: new Set(['received', 'sent', 'read']) }))).toEqual(['lost']);
    expect(rules(checkEffects({ ...good, feed: feed.slice(1) }))).toEqual(['lost']);
  });

  test('finds a message stored twice', () => {
    expect(rules(checkEffects({ ...good, messages: [incoming, incoming, outgoing] }))).toEqual(['repeated']);
  });

  test('finds a message and a status that were never sent', () => {
    expect(rules(checkEffects({ ...good, messages: [...good.messages, { ...incoming, id: 'x' }] }))).toEqual([
      'invented',
    ]);
    const sent = [received, status('sent'), status('delivered')];
    expect(rules(checkEffects({ ...good, sent }))).toEqual(['invented']);
  });

  test('finds a message stored with different content than it was sent with, and a feed that contradicts the store', () => {
    const messages = [{ ...incoming, text: 'Hallo' }, outgoing];
    expect(rules(checkEffects({ ...good, messages }))).toEqual(['different']);
    expect(rules(checkEffects({ ...good, feed: feed.slice(0, 3) }))).toEqual(['different']);
  });
});

describe('the check of final states', () => {
  const truth = [incoming, outgoing];

  test('passes equal stores, no matter which of them has the peer', () => {
    expect(checkFinalStates([{ ...incoming, peer: null }, outgoing], truth)).toEqual([]);
  });

  test('finds a missing, an unexpected and a duplicate message', () => {
    expect(rules(checkFinalStates([incoming], truth))).toEqual(['lost']);
    expect(rules(checkFinalStates([...truth, { ...incoming, id: 'x' }], truth))).toEqual(['invented']);
    expect(rules(checkFinalStates([...truth, incoming], truth))).toEqual(['repeated']);
  });

  test('finds a status that is behind, ahead or conflicting, and a different text, direction or medium', () => {
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
