import { applyStatus } from '../../patterns/message-status.ts';
import { CHANGE, type ConnectionStateFacts, eachText, MESSAGE_TEXTS, type MessageFacts } from './facts.ts';
import { toStorableText } from './storable-text.ts';

/** What a batch reports about one message, as input of the merge statement. */
export interface FoldedMessage extends Omit<MessageFacts, 'certain'> {
  /** A poll that could read them is among the sources, so direction and `createdAt` are the service's own. */
  readonly polled: boolean;
  /** Both `read` and `failed` were reported. */
  readonly statusConflict: boolean;
}

/** One row for each message, ordered by key, and for each fact the changes for which it may be the cause. */
export interface FoldedMessages {
  readonly messages: readonly FoldedMessage[];
  /** Bits of `CHANGE`, by the index of the fact. */
  readonly credits: readonly number[];
}

interface GroupedFacts {
  readonly index: number;
  readonly facts: MessageFacts;
}

/**
 * Folds facts into one row for each message and account, as if they were merged one by one: the first value of
 * a field is kept, but the last address of a file that a poll reports; statuses of outgoing messages apply in the
 * order of their timestamps, and the creation time is that of a poll, or else the earliest one. Rows are ordered by
 * connection and message, so that all batches lock rows in the same order. Pure.
 */
export function foldMessages(facts: readonly MessageFacts[]): FoldedMessages {
  const groups = new Map<string, GroupedFacts[]>();
  facts.forEach((fact, index) => {
    // [events.received.dedupe] [messages.item.waMessageId.no-join]
    const key = `${fact.connectionId}\n${fact.messageId}\n${fact.accountId}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [{ index, facts: fact }]);
    else group.push({ index, facts: fact });
  });
  const credits = new Array<number>(facts.length).fill(0);
  const messages = [...groups.values()].map((group) => foldOne(group, credits));
  return { messages: messages.sort(byMessageKey), credits };
}

function foldOne(group: readonly GroupedFacts[], credits: number[]): FoldedMessage {
  const [first, ...others] = group;
  if (first === undefined) throw new RangeError('a group of facts cannot be empty');
  let folded = start(first.facts);
  credits[first.index] = CHANGE.created | CHANGE.fields | CHANGE.bookkeeping;
  for (const { index, facts } of others) {
    const next = join(folded, facts);
    credits[index] =
      (fillsFields(folded, next) ? CHANGE.fields : 0) | (adds(folded, next) ? CHANGE.bookkeeping : 0);
    folded = next;
  }
  return folded.direction === 'incoming' ? folded : { ...folded, ...foldStatuses(group, credits) };
}

function start({ certain, ...facts }: MessageFacts): FoldedMessage {
  return {
    ...facts,
    ...eachText((name) => toStorableText(facts[name])),
    status: null,
    polled: facts.source === 'poll' && certain !== false,
    statusConflict: false,
  };
}

function join(folded: FoldedMessage, facts: MessageFacts): FoldedMessage {
  const next = start(facts);
  return {
    ...folded,
    ...eachText((name) =>
      // See `fileAddress` in `merge-columns.ts`.
      name === 'mediaUrl' && next.source === 'poll'
        ? (next[name] ?? folded[name])
        : (folded[name] ?? next[name]),
    ),
    createdAt: joinCreatedAt(folded, next),
    webhookSeen: folded.webhookSeen | next.webhookSeen,
    polled: folded.polled || next.polled,
  };
}

function joinCreatedAt(folded: FoldedMessage, next: FoldedMessage): number {
  if (folded.polled || (next.source === 'poll' && !next.polled)) return folded.createdAt;
  return next.polled ? next.createdAt : Math.min(folded.createdAt, next.createdAt);
}

function fillsFields(before: FoldedMessage, after: FoldedMessage): boolean {
  return before.createdAt !== after.createdAt || MESSAGE_TEXTS.some((name) => before[name] !== after[name]);
}

function adds(before: FoldedMessage, after: FoldedMessage): boolean {
  return before.webhookSeen !== after.webhookSeen || before.polled !== after.polled;
}

/** The status after all updates of the group. Its fact counts as the cause; it overtook the others. */
function foldStatuses(
  group: readonly GroupedFacts[],
  credits: number[],
): Pick<FoldedMessage, 'status' | 'statusConflict'> {
  let status: FoldedMessage['status'] = null;
  let statusConflict = false;
  let bringer: number | undefined;
  for (const { index, facts } of group.length === 1 ? group : [...group].sort(byStatusTime)) {
    const after = applyStatus(status, facts.status);
    status = after.status;
    statusConflict ||= after.conflict;
    if (after.changed) bringer = index;
    if (facts.status === 'read' || facts.status === 'failed') credit(credits, index, CHANGE.conflict);
  }
  if (bringer !== undefined) credit(credits, bringer, CHANGE.status);
  return { status, statusConflict };
}

function credit(credits: number[], index: number, bits: number): void {
  credits[index] = (credits[index] ?? 0) | bits;
}

// [delivery.order]
function byStatusTime(a: GroupedFacts, b: GroupedFacts): number {
  return a.facts.createdAt - b.facts.createdAt;
}

function byMessageKey(a: FoldedMessage, b: FoldedMessage): number {
  return (
    compareKeys(a.connectionId, b.connectionId) ||
    compareKeys(a.messageId, b.messageId) ||
    compareKeys(a.accountId, b.accountId)
  );
}

/** A connection that a batch names, with its newest event, if any. */
export interface FoldedConnection {
  readonly connectionId: string;
  readonly accountId: string;
  readonly event: ConnectionStateFacts | null;
}

/** One row for each connection and account, ordered by key, and the indexes of the events that are applied. */
export interface FoldedConnections {
  readonly connections: readonly FoldedConnection[];
  readonly standing: ReadonlySet<number>;
}

/** Rank among events of the same millisecond: an outage ends after it began. */
export function rankConnectionEvent(event: ConnectionStateFacts): number {
  return event.event === 'connection.connected' ? 1 : 0;
}

/** Folds the connections that messages and events name: of several events, the newest is applied. Pure. */
export function foldConnections(
  messages: readonly FoldedMessage[],
  events: readonly ConnectionStateFacts[],
): FoldedConnections {
  const rows = new Map<string, { connection: FoldedConnection; index: number | undefined }>();
  for (const { connectionId, accountId } of messages) {
    rows.set(`${connectionId}\n${accountId}`, {
      connection: { connectionId, accountId, event: null },
      index: undefined,
    });
  }
  events.forEach((event, index) => {
    const { connectionId, accountId } = event;
    const key = `${connectionId}\n${accountId}`;
    const standing = rows.get(key)?.connection.event;
    if (standing !== undefined && standing !== null && !isNewer(event, standing)) return;
    rows.set(key, { connection: { connectionId, accountId, event: cleanEvent(event) }, index });
  });
  const kept = [...rows.values()];
  return {
    connections: kept.map((row) => row.connection).sort(byConnectionKey),
    standing: new Set(kept.flatMap((row) => (row.index === undefined ? [] : [row.index]))),
  };
}

// [delivery.order]
function isNewer(event: ConnectionStateFacts, standing: ConnectionStateFacts): boolean {
  if (event.at !== standing.at) return event.at > standing.at;
  return rankConnectionEvent(event) > rankConnectionEvent(standing);
}

function cleanEvent(event: ConnectionStateFacts): ConnectionStateFacts {
  return {
    ...event,
    phoneNumber: toStorableText(event.phoneNumber),
    label: toStorableText(event.label),
    status: toStorableText(event.status),
    licenseStatus: toStorableText(event.licenseStatus),
    reason: toStorableText(event.reason),
  };
}

function byConnectionKey(a: FoldedConnection, b: FoldedConnection): number {
  return compareKeys(a.connectionId, b.connectionId) || compareKeys(a.accountId, b.accountId);
}

/** Orders keys by code unit: the same order in every process, whatever its locale. */
function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
