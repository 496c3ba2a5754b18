import type { LoadStatus } from './load-plan.ts';

/** A message as a store returns it. */
export interface MessageState {
  readonly connectionId: string;
  readonly id: string;
  readonly direction: string;
  readonly peer: string | null;
  readonly text: string | null;
  readonly mediaUrl: string | null;
  readonly status: LoadStatus | null;
}

/** The checked fields of a change of the feed. */
export interface FeedChange {
  readonly seq: number | null;
  readonly type: string;
  readonly connectionId: string;
  readonly messageId: string | null;
  /** The status that the change reports; null for none. */
  readonly status: LoadStatus | null;
  /** Only for `message.status`. */
  readonly previous: LoadStatus | null;
}

/** An event that a sender sent, whether or not it was acknowledged. */
export interface SentEvent {
  readonly connectionId: string;
  readonly messageId: string;
  /** Null: `message.received`. */
  readonly status: LoadStatus | null;
  readonly from: string | null;
  readonly text: string | null;
  readonly body: string;
  readonly acknowledged: boolean;
}

export type Rule = 'lost' | 'repeated' | 'fallen' | 'gap' | 'invented' | 'different';

/** A violated guarantee. */
export interface Violation {
  readonly rule: Rule;
  readonly about: string;
}

const RANK: Readonly<Record<LoadStatus, number>> = { sent: 1, delivered: 2, read: 3, failed: 3 };

/** The status order of the specification: only upwards, and nothing follows `read` or `failed`. */
function rises(from: LoadStatus | null, to: LoadStatus): boolean {
  return from === null || RANK[to] > RANK[from];
}

function keyOf(connectionId: string, id: string | null): string {
  return `${connectionId}/${id}`;
}

/**
 * Checks the feed by itself: `seq` counts from 1 without a gap or a repeat, each message is created once and
 * before anything else is reported about it, a status is reported once and only rises, and each change names the
 * status that was reported before it.
 */
export function checkFeed(feed: readonly FeedChange[]): Violation[] {
  const found: Violation[] = [];
  const report = (rule: Rule, about: string): void => void found.push({ rule, about });
  const statuses = new Map<string, LoadStatus | null>();
  feed.forEach((change, index) => {
    if (change.seq !== index + 1) report('gap', `seq ${change.seq} in place ${index + 1}`);
    if (change.messageId === null) return;
    const key = keyOf(change.connectionId, change.messageId);
    const before = statuses.get(key);
    if (change.type === 'message.created') {
      if (before !== undefined) report('repeated', `${key} created again at seq ${change.seq}`);
      statuses.set(key, change.status);
    } else if (before === undefined) {
      report('gap', `${key} ${change.type} before its creation, seq ${change.seq}`);
    } else if (change.type === 'message.status' && change.status !== null) {
      if (change.status === before) report('repeated', `${key} ${change.status} again at seq ${change.seq}`);
      else if (!rises(before, change.status))
        report('fallen', `${key} from ${before} to ${change.status} at seq ${change.seq}`);
      else if (change.previous !== before)
        report('different', `${key} ${change.status} names ${change.previous}, but ${before} was reported`);
      statuses.set(key, change.status);
    }
  });
  return found;
}

/** Checks that a reader received the feed from its start, without repeats or gaps. */
export function checkFollowed(followed: readonly FeedChange[], feed: readonly FeedChange[]): Violation[] {
  const found: Violation[] = [];
  followed.forEach((change, index) => {
    const expected = feed[index];
    if (change.seq !== index + 1)
      found.push({ rule: 'gap', about: `read seq ${change.seq} as ${index + 1}.` });
    else if (JSON.stringify(change) !== JSON.stringify(expected))
      found.push({ rule: 'different', about: `the reader's seq ${change.seq} is not the feed's` });
  });
  return found;
}

/** What the checks of a load compare. */
export interface LoadOutcome {
  readonly sent: readonly SentEvent[];
  readonly messages: readonly MessageState[];
  readonly feed: readonly FeedChange[];
  /** Bodies in the raw log. */
  readonly logged: ReadonlySet<string>;
}

/**
 * Checks messages, feed and raw log against what was sent. Every acknowledged event has its effect in each of
 * the three; an unacknowledged one may have; nothing else has any.
 */
export function checkEffects({ sent, messages, feed, logged }: LoadOutcome): Violation[] {
  const found: Violation[] = [];
  const report = (rule: Rule, about: string): void => void found.push({ rule, about });
  const stored = index(messages, report);
  const shown = lastReported(feed);
  const byMessage = new Map<string, SentEvent[]>();
  for (const event of sent) {
    const key = keyOf(event.connectionId, event.messageId);
    const others = byMessage.get(key);
    if (others === undefined) byMessage.set(key, [event]);
    else others.push(event);
    if (!event.acknowledged) continue;
    const about = `${key} ${event.status ?? 'received'}`;
    const message = stored.get(key);
    if (message === undefined) report('lost', about);
    else if (event.status === null) compareReceived(event, message, report);
    else if (message.status === null || rises(message.status, event.status)) report('lost', about);
    if (!logged.has(event.body)) report('lost', `${about} in the raw log`);
    if (!shown.has(key)) report('lost', `${about} in the feed`);
  }
  for (const [key, message] of stored) {
    const events = byMessage.get(key) ?? [];
    const claimed = message.status === null || events.some((event) => event.status === message.status);
    if (events.length === 0 || !claimed) report('invented', `${key} ${message.status ?? ''}`);
    if (shown.has(key) && shown.get(key) !== message.status)
      report('different', `${key} is ${message.status}, the feed says ${shown.get(key)}`);
  }
  return found;
}

function compareReceived(
  event: SentEvent,
  message: MessageState,
  report: (rule: Rule, about: string) => void,
): void {
  const same =
    message.direction === 'incoming' &&
    message.peer === event.from &&
    message.text === event.text &&
    message.mediaUrl === null;
  if (!same) report('different', `${keyOf(event.connectionId, event.messageId)} in the store`);
}

function index(
  messages: readonly MessageState[],
  report: (rule: Rule, about: string) => void,
): Map<string, MessageState> {
  const byKey = new Map<string, MessageState>();
  for (const message of messages) {
    const key = keyOf(message.connectionId, message.id);
    if (byKey.has(key)) report('repeated', `${key} in the store`);
    byKey.set(key, message);
  }
  return byKey;
}

/** The last status that the feed reports for each message. */
function lastReported(feed: readonly FeedChange[]): Map<string, LoadStatus | null> {
  const last = new Map<string, LoadStatus | null>();
  for (const change of feed) {
    const hasStatus = change.type === 'message.created' || change.type === 'message.status';
    if (hasStatus && change.messageId !== null)
      last.set(keyOf(change.connectionId, change.messageId), change.status);
  }
  return last;
}

/**
 * Checks that a store has the final state of the service: the same messages, each with the same direction, text,
 * media and, if it is outgoing, status: a connector keeps none for an incoming message. The peer is left out, because
 * a polled message does not name it.
 */
export function checkFinalStates(
  stored: readonly MessageState[],
  truth: readonly MessageState[],
): Violation[] {
  const found: Violation[] = [];
  const report = (rule: Rule, about: string): void => void found.push({ rule, about });
  const mine = index(stored, report);
  const theirs = index(truth, report);
  for (const [key, message] of theirs) {
    const other = mine.get(key);
    if (other === undefined) report('lost', key);
    else if (message.status !== null && other.status !== null && rises(message.status, other.status))
      report('invented', `${key} is ${other.status}, the service says ${message.status}`);
    else if (!sameState(message, other)) report('different', `${key} ${other.status} for ${message.status}`);
  }
  for (const key of mine.keys()) if (!theirs.has(key)) report('invented', key);
  return found;
}

function sameState(one: MessageState, other: MessageState): boolean {
  return (
    one.direction === other.direction &&
    one.text === other.text &&
    one.mediaUrl === other.mediaUrl &&
    (one.direction === 'incoming' || one.status === other.status)
  );
}
