import type { MessageTrace, TraceEntry } from '../../contract/connector/trace.ts';
import { toIso, toIsoOrNull } from '../../runtime/clock/iso-time.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { readInboxSince } from '../db/inbox-partitions.ts';
import {
  CHANGE_RANK,
  comparePlaces,
  DELIVERY_RANK,
  DuplicateCounts,
  type Place,
  type TraceKey,
} from './place.ts';
import { type KeptDelivery, readMerged, readUnchanged } from './read-deliveries.ts';
import { presentChanges, presentDelivery, presentSend } from './trace-entries.ts';
import {
  type MessageChangeRow,
  readMessageChanges,
  readOwners,
  readSendChanges,
  readTracedRow,
  type SendChangeRow,
  type TracedRow,
} from './trace-rows.ts';

export interface TraceRequest {
  readonly messageId: string;
  readonly limit: number;
  /** The last entry of the previous page. */
  readonly after: TraceKey | null;
}

/** One page of a trace, and the key of its last entry if more follow. */
export interface TracePage extends Omit<MessageTrace, 'nextCursor'> {
  readonly last: TraceKey | null;
}

/** Something that affected the message, with its place in the order. */
type Step =
  | { readonly place: Place; readonly kind: 'delivery'; readonly delivery: KeptDelivery }
  | { readonly place: Place; readonly kind: 'send'; readonly change: SendChangeRow }
  | {
      readonly place: Place;
      readonly kind: 'changes';
      readonly first: MessageChangeRow;
      readonly changes: readonly MessageChangeRow[];
    };

/**
 * Lists what affected a message, oldest first: each kept delivery, what polls, sends and replays changed, and
 * the steps of its send. Everything is read from what was stored at the time. Null if neither a message nor a
 * delivery with this id is known. Memory is bounded by `limit`.
 */
export async function traceMessage(db: Queryable, request: TraceRequest): Promise<TracePage | null> {
  const { messageId, limit, after } = request;
  const row = await readTracedRow(db, messageId);
  const merged = await readMerged(db, messageId);
  const batches = merged.flatMap(({ changeBatch }) => (changeBatch === null ? [] : [changeBatch]));
  const changes = await readMessageChanges(db, messageId, batches);
  const place = readPlace(after);
  const unchanged = await readUnchanged(db, messageId, afterDelivery(place), limit + 1);
  const known = row !== null || changes.length + merged.length + unchanged.length > 0;
  if (!known && after === null) return null;
  const connectionId = row?.connectionId ?? changes[0]?.connectionId ?? null;
  const sends = await readSendChanges(db, messageId, connectionId, afterChange(place), limit + 1);
  const own = new Set(batches);
  const steps = [
    ...[...merged, ...unchanged].map(stepOfDelivery),
    ...sends.map(stepOfSend),
    ...stepsOfChanges(changes.filter(({ batch }) => !own.has(batch))),
  ]
    .filter((step) => comparePlaces(step.place, place) > 0)
    .sort((a, b) => comparePlaces(a.place, b.place));
  const page = steps.slice(0, limit);
  const counts = new DuplicateCounts(after?.slice(3) ?? []);
  const entries = await presentSteps(db, page, { changes, row, counts });
  const last = page.at(-1)?.place;
  const hasMore = steps.length > limit && last !== undefined;
  return {
    messageId,
    message: row === null ? null : presentRow(row),
    inbox: await judgeInbox(db, row),
    entries,
    hasMore,
    last: hasMore ? keyOf(last, counts.counts) : null,
  };
}

function readPlace(after: TraceKey | null): Place {
  if (after === null) return { at: Number.MIN_SAFE_INTEGER, rank: DELIVERY_RANK, id: 0 };
  const [at, rank, id] = after;
  return { at, rank, id };
}

function keyOf({ at, rank, id }: Place, counts: readonly number[]): TraceKey {
  const [received = 0, sent = 0, delivered = 0, read = 0, failed = 0] = counts;
  return [at, rank, id, received, sent, delivered, read, failed];
}

/** Deliveries come before changes of the same time. */
function afterDelivery({ at, rank, id }: Place): { at: number; id: number } {
  return { at, id: rank === DELIVERY_RANK ? id : Number.MAX_SAFE_INTEGER };
}

function afterChange({ at, rank, id }: Place): { at: number; batch: number } {
  return { at, batch: rank === CHANGE_RANK ? id : -1 };
}

function stepOfDelivery(delivery: KeptDelivery): Step {
  const place: Place = { at: delivery.receivedAt, rank: DELIVERY_RANK, id: delivery.id };
  return { place, kind: 'delivery', delivery };
}

function stepOfSend(change: SendChangeRow): Step {
  return { place: { at: change.at, rank: CHANGE_RANK, id: change.batch }, kind: 'send', change };
}

/** Everything that one statement changed is one entry. */
function stepsOfChanges(changes: readonly MessageChangeRow[]): Step[] {
  const byBatch = Map.groupBy(changes, ({ batch }) => batch);
  return [...byBatch.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const place: Place = { at: first.at, rank: CHANGE_RANK, id: first.batch };
    return [{ place, kind: 'changes', first, changes: group }];
  });
}

interface Known {
  readonly changes: readonly MessageChangeRow[];
  readonly row: TracedRow | null;
  readonly counts: DuplicateCounts;
}

async function presentSteps(db: Queryable, steps: readonly Step[], known: Known): Promise<TraceEntry[]> {
  const { changes, row, counts } = known;
  const named = steps.flatMap((step) =>
    step.kind === 'delivery' && step.delivery.connectionId !== null ? [step.delivery.connectionId] : [],
  );
  const owners = await readOwners(db, [...new Set(named)]);
  return steps.map((step) => {
    if (step.kind === 'send') return presentSend(step.change);
    if (step.kind === 'changes') return presentChanges(step.changes, step.first);
    const { delivery } = step;
    const duplicate = delivery.outcome === 'invalid' ? null : counts.next(delivery.event, delivery.status);
    return presentDelivery(delivery, { changes, duplicate, owners, row });
  });
}

function presentRow(row: TracedRow): NonNullable<MessageTrace['message']> {
  return { ...row, firstSeenAt: toIso(row.firstSeenAt), createdAt: toIso(row.createdAt) };
}

/** What the kept days cover: everything, unless the message is older than they are. */
async function judgeInbox(db: Queryable, row: TracedRow | null): Promise<MessageTrace['inbox']> {
  const since = await readInboxSince(db);
  const complete = row === null || since === null || row.firstSeenAt >= since;
  const note =
    `The message was first seen at ${toIsoOrNull(row?.firstSeenAt ?? null)}, and the inbox keeps deliveries since ` +
    `${toIsoOrNull(since)}. Deliveries from before, and what they changed, are not listed here.`;
  return { keptSince: toIsoOrNull(since), complete, note: complete ? null : note };
}
