import { expect, test } from 'vitest';
import {
  checkEffects,
  checkFeed,
  checkFinalStates,
  checkFollowed,
  type FeedChange,
  type LoadOutcome,
  type MessageState,
  type SentEvent,
  type Violation,
} from './check-invariants.ts';

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

/** Statuses that one message reports in the feed, one after the other. */
const reporting = (before: FeedChange['status'], after: FeedChange['status'], previous = before) =>
  checkFeed([
    { ...sentFirst, seq: 1, status: before },
    { ...delivered, seq: 2, status: after, previous },
  ]);
const effects = (changes: Partial<LoadOutcome>) => checkEffects({ ...good, ...changes });
const truth = [incoming, outgoing];
const stored = (...messages: readonly MessageState[]) => checkFinalStates(messages, truth);
const behind = { ...outgoing, status: 'sent' as const };
const late = { ...outgoing, status: 'delivered' as const };

const CASES: readonly (readonly [what: string, found: readonly Violation[], rule?: string])[] = [
  ['a valid feed', checkFeed(feed)],
  ['a gap in the feed', checkFeed([created, { ...sentFirst, seq: 3 }]), 'gap'],
  ['a repeated number', checkFeed([created, { ...sentFirst, seq: 1 }]), 'gap'],
  ['a change without a number', checkFeed([created, { ...sentFirst, seq: null }]), 'gap'],
  ['a message created twice', checkFeed([created, { ...created, seq: 2 }]), 'repeated'],
  ['a status before the creation of its message', checkFeed([{ ...delivered, seq: 1 }]), 'gap'],
  ['a repeated status', reporting('delivered', 'delivered'), 'repeated'],
  ['a status fallen from delivered to sent', reporting('delivered', 'sent'), 'fallen'],
  ['a status fallen from read to delivered', reporting('read', 'delivered'), 'fallen'],
  ['a status after read', reporting('read', 'failed'), 'fallen'],
  ['a status after failed', reporting('failed', 'read'), 'fallen'],
  ['a status fallen from failed to sent', reporting('failed', 'sent'), 'fallen'],
  ['a previous status that was not reported before', reporting('sent', 'read', 'delivered'), 'different'],

  ['a reader of the whole feed', checkFollowed(feed, feed)],
  ['a reader of its beginning', checkFollowed(feed.slice(0, 2), feed)],
  ['a change that a reader skipped', checkFollowed([created, delivered], feed), 'gap'],
  ['a change that it read twice', checkFollowed([created, created, sentFirst], feed), 'gap'],
  ['a change that it read differently', checkFollowed([{ ...created, messageId: 'x' }], feed), 'different'],
  ['a change that is not in the feed', checkFollowed([...feed, { ...created, seq: 5 }], feed), 'different'],

  ['every acknowledged event with its effect', effects({})],
  [
    'an event without an answer, with its effect',
    effects({ sent: [{ ...received, acknowledged: false }, status('read')] }),
  ],
  [
    'one without its effect',
    effects({ sent: [...good.sent, { ...received, messageId: 'x', acknowledged: false }] }),
  ],
  ['a lost message', effects({ messages: [outgoing] }), 'lost'],
  ['a lost status', effects({ messages: [incoming, late], feed: [created, sentFirst, delivered] }), 'lost'],
  ['a lost raw body', effects({ logged: new Set(['received', 'sent', 'read']) }), 'lost'],
  ['a lost change', effects({ feed: feed.slice(1) }), 'lost'],
  ['a message stored twice', effects({ messages: [incoming, incoming, outgoing] }), 'repeated'],
  ['a message that was never sent', effects({ messages: [...truth, { ...incoming, id: 'x' }] }), 'invented'],
  [
    'a status that was never sent',
    effects({ sent: [received, status('sent'), status('delivered')] }),
    'invented',
  ],
  [
    'another content than was sent',
    effects({ messages: [{ ...incoming, text: 'x' }, outgoing] }),
    'different',
  ],
  ['a feed that contradicts the store', effects({ feed: feed.slice(0, 3) }), 'different'],

  ['equal stores, no matter which has the peer', stored({ ...incoming, peer: null }, outgoing)],
  ['a missing message', stored(incoming), 'lost'],
  ['an unexpected message', stored(...truth, { ...incoming, id: 'x' }), 'invented'],
  ['a duplicate message', stored(...truth, incoming), 'repeated'],
  ['a status that is behind', stored(incoming, behind), 'different'],
  ['a status that is ahead', checkFinalStates(truth, [incoming, behind]), 'invented'],
  ['a conflicting status', stored(incoming, { ...outgoing, status: 'failed' }), 'different'],
  ['a different text', stored({ ...incoming, text: 'x' }, outgoing), 'different'],
  ['a different direction', stored({ ...incoming, direction: 'outgoing' }, outgoing), 'different'],
  ['a different medium', stored({ ...incoming, mediaUrl: 'https://x' }, outgoing), 'different'],
];

test.each(CASES.map(([what, found, rule]) => ({ what, found, rule })))(
  'the checks judge $what',
  ({ found, rule }) => {
    expect([...new Set(found.map((each) => each.rule))]).toEqual(rule === undefined ? [] : [rule]);
  },
);
