import type { MessageTrace, TraceEntry } from '../../contract/connector/trace.ts';
import { TRACE_ENTRIES } from '../../contract/connector/trace.ts';
import { toIso, toIsoOrNull } from '../../runtime/clock/iso-time.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { readInboxSince } from '../db/time-partitions.ts';
import { type KeptDelivery, readDeliveries } from './read-deliveries.ts';
import { presentChanges, presentDelivery, presentSend } from './trace-entries.ts';
import { readMessageChanges, readSendChanges, readTracedRow, type TracedRow } from './trace-rows.ts';

/** What affected the message at a time. At the same time deliveries come first, then by their ids or batches. */
interface Step {
  readonly order: readonly [at: number, rank: 0 | 1, id: number];
  readonly present: () => TraceEntry;
}

/**
 * Lists what affected a message, oldest first: each kept delivery, what polls, sends and replays changed, and
 * the steps of its send. Everything is read from what was stored at the time. If there is more than fits, the
 * newest entries are listed. Null if neither a message nor a delivery with this id is known.
 */
export async function traceMessage(db: Queryable, messageId: string): Promise<MessageTrace | null> {
  const limit = TRACE_ENTRIES + 1;
  const row = await readTracedRow(db, messageId);
  const merged = await readDeliveries(db, messageId, 'merged', limit);
  const batches = merged.flatMap(({ changeBatch }) => (changeBatch === null ? [] : [changeBatch]));
  const changes = await readMessageChanges(db, messageId, batches);
  const unchanged = await readDeliveries(db, messageId, 'unchanged', limit);
  if (row === null && changes.length + merged.length + unchanged.length === 0) return null;
  const connectionId = row?.connectionId ?? changes[0]?.connectionId ?? null;
  const sends = await readSendChanges(db, messageId, connectionId, limit);
  const deliveries = [...merged, ...unchanged];
  const own = new Set(batches);
  // Everything that one statement changed is one entry.
  const others = Map.groupBy(
    changes.filter(({ batch }) => !own.has(batch)),
    ({ batch }) => batch,
  );
  const copies = new Map<string, number>();
  let truncated = false;
  const steps: Step[] = [
    ...deliveries.map(
      (delivery): Step => ({
        order: [delivery.receivedAt, 0, delivery.id],
        present: () => {
          // Earlier copies are not listed, so nobody knows which copy it is.
          const duplicate = truncated ? null : countCopy(copies, delivery);
          return presentDelivery(delivery, { changes, duplicate, row });
        },
      }),
    ),
    ...sends.map(
      (change): Step => ({
        order: [change.at, 1, change.batch],
        present: () => presentSend(change),
      }),
    ),
    ...[...others.values()].flatMap((group): Step[] =>
      group.slice(0, 1).map((first) => ({
        order: [first.at, 1, first.batch],
        present: () => presentChanges(group, first),
      })),
    ),
  ].sort(({ order: a }, { order: b }) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
  truncated = steps.length > TRACE_ENTRIES;
  return {
    messageId,
    message:
      row === null ? null : { ...row, firstSeenAt: toIso(row.firstSeenAt), createdAt: toIso(row.createdAt) },
    inbox: await judgeInbox(db, row),
    entries: steps.slice(-TRACE_ENTRIES).map(({ present }) => present()),
    truncated,
  };
}

/** 1 for the first delivery of an event and status; null for what is not counted. */
function countCopy(copies: Map<string, number>, { event, status, outcome }: KeptDelivery): number | null {
  const hasFacts = outcome !== 'invalid' && outcome !== 'unknown_event';
  if (!hasFacts || (event === 'message.status' && status === null)) return null;
  const kind = `${event} ${status}`;
  const number = (copies.get(kind) ?? 0) + 1;
  copies.set(kind, number);
  return number;
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
