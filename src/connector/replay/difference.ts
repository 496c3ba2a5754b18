import { and, eq, getTableColumns, ne, notExists, sql } from 'drizzle-orm';
import { applyStatus } from '../../patterns/message-status.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import type { FoldedMessage } from '../db/fold-facts.ts';
import { changes, messages } from '../db/schema.ts';

/** A field of a message that differs from what the kept inbox reports. Long texts are truncated. */
export interface FieldDifference {
  readonly field: string;
  readonly live: string | null;
  readonly rebuilt: string | null;
}

/**
 * How a stored message differs from what the kept inbox explains:
 * - `missing`: it does not exist. The merge creates it.
 * - `behind`: the merge fills fields or advances the status.
 * - `differs`: both have a value, and they differ. The first one is kept, so the merge changes nothing.
 * - `unexplained`: it has more than the inbox reports, and neither a poll nor a send can be the source.
 */
export type DifferenceKind = 'missing' | 'behind' | 'differs' | 'unexplained';

export interface MessageDifference {
  readonly connectionId: string;
  readonly messageId: string;
  readonly kind: DifferenceKind;
  readonly fields: readonly FieldDifference[];
}

/** Reads messages by their ids, in the order of the merge. `lock` locks them until the end of the transaction. */
export async function readLiveMessages(db: Queryable, ids: readonly string[], lock: boolean) {
  const others = orm(db)
    .select({ source: changes.source })
    .from(changes)
    .where(and(eq(changes.messageId, messages.id), ne(changes.source, 'webhook')));
  const query = orm(db)
    .select({
      ...getTableColumns(messages),
      /** Neither a poll nor a send reported it. */
      webhooksOnly: sql<boolean>`${messages.firstSeenBy} = 'webhook' and not ${messages.polled} and ${notExists(others)}`,
    })
    .from(messages)
    .where(isAnyOf(messages.id, ids))
    .orderBy(messages.connectionId, messages.id);
  return await (lock ? query.for('update') : query);
}

/** A message as stored. */
export type LiveMessage = Awaited<ReturnType<typeof readLiveMessages>>[number];

const FILLED = ['peer', 'text', 'mediaUrl', 'mediaType', 'waMessageId'] as const;
const MERGED = [...FILLED, 'status', 'createdAt', 'webhookSeen', 'statusConflict'] as const;

type Field = (typeof MERGED)[number] | 'direction';

/**
 * How a message differs from what its deliveries report. `before` and `after` are the message before and after
 * merging them, `expected` is the result of merging only them, `keptSince` is when the oldest kept delivery may
 * have been received (epoch ms).
 */
export function differenceOf(
  before: LiveMessage | undefined,
  after: LiveMessage,
  expected: FoldedMessage,
  keptSince: number,
): MessageDifference | null {
  const { id: messageId, connectionId } = after;
  if (before === undefined) {
    const known = [...FILLED, 'status', 'createdAt'] as const;
    const fields = known.filter((field) => after[field] !== null);
    const shown = fields.map((field) => show(field, null, after[field]));
    return { messageId, connectionId, kind: 'missing', fields: shown };
  }
  const added = MERGED.filter((field) => before[field] !== after[field]);
  // What another source reported first is kept.
  const isFirst = before.firstSeenBy === 'webhook' && before.direction === 'incoming';
  const differing: Field[] = FILLED.filter(
    (field) =>
      isFirst &&
      before[field] !== null &&
      expected[field] !== null &&
      before[field] !== expected[field] &&
      // A poll renews it.
      !(field === 'mediaUrl' && before.polled),
  );
  if (before.direction !== expected.direction) differing.push('direction');
  const isWhole = before.webhooksOnly && before.firstSeenAt >= keptSince;
  const unexplained: Field[] = FILLED.filter(
    (field) => isWhole && before[field] !== null && expected[field] === null,
  );
  const isAbove = !expected.statusConflict && applyStatus(expected.status, before.status).changed;
  if (isWhole && isAbove) unexplained.push('status');
  const fields = [
    ...added.map((field) => show(field, before[field], after[field])),
    ...[...differing, ...unexplained].map((field) => show(field, before[field], expected[field])),
  ];
  if (fields.length === 0) return null;
  const kind = added.length > 0 ? 'behind' : differing.length > 0 ? 'differs' : 'unexplained';
  return { messageId, connectionId, kind, fields };
}

type Value = string | number | boolean | null;

const SHOWN = 120;

function show(field: Field, live: Value, rebuilt: Value): FieldDifference {
  const write = (value: Value): string | null => {
    if (value === null) return null;
    return field === 'createdAt' ? toIso(Number(value)) : String(value).slice(0, SHOWN);
  };
  return { field, live: write(live), rebuilt: write(rebuilt) };
}
