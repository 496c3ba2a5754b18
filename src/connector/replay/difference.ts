import { and, eq, getTableColumns, ne, notExists, sql } from 'drizzle-orm';
import { applyStatus } from '../../patterns/message-status.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import type { FoldedMessage } from '../db/fold-facts.ts';
import { changes, messages } from '../db/schema.ts';

/** A field of a message that is not as the kept inbox says. Long texts are cut. */
export interface FieldDifference {
  readonly field: string;
  readonly live: string | null;
  readonly rebuilt: string | null;
}

/**
 * How a live message differs from what the kept inbox explains:
 * - `missing`: there is none. The merge makes it.
 * - `behind`: the merge fills fields or raises the status.
 * - `differs`: both know a value, and not the same. The first one stands, so the merge changes nothing.
 * - `unexplained`: it knows more than the inbox, and neither a poll nor a send can have told it.
 */
export type DifferenceKind = 'missing' | 'behind' | 'differs' | 'unexplained';

export interface MessageDifference {
  readonly connectionId: string;
  readonly messageId: string;
  readonly kind: DifferenceKind;
  readonly fields: readonly FieldDifference[];
}

/** Reads messages by their ids, in the order of the merge. `lock` holds them to the end of the transaction. */
export async function readLiveMessages(db: Queryable, ids: readonly string[], lock: boolean) {
  const others = orm(db)
    .select({ source: changes.source })
    .from(changes)
    .where(and(eq(changes.messageId, messages.id), ne(changes.source, 'webhook')));
  const query = orm(db)
    .select({
      ...getTableColumns(messages),
      /** Neither a poll nor a send told of it. */
      webhooksOnly: sql<boolean>`${messages.firstSeenBy} = 'webhook' and not ${messages.polled} and ${notExists(others)}`,
    })
    .from(messages)
    .where(isAnyOf(messages.id, ids))
    .orderBy(messages.connectionId, messages.id);
  return await (lock ? query.for('update') : query);
}

/** A message as it is stored. */
export type LiveMessage = Awaited<ReturnType<typeof readLiveMessages>>[number];

const FILLED = ['peer', 'text', 'mediaUrl', 'mediaType', 'waMessageId'] as const;
const MERGED = [...FILLED, 'status', 'createdAt', 'webhookSeen', 'statusConflict'] as const;

type Field = (typeof MERGED)[number] | 'direction';

/**
 * How a message differs from what its deliveries tell. `before` and `after` are it around the merge of them, `told`
 * is what they come to by themselves, `keptSince` is when the oldest kept delivery may have come (epoch ms).
 */
export function differenceOf(
  before: LiveMessage | undefined,
  after: LiveMessage,
  told: FoldedMessage,
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
  // What another source told first stands for good.
  const isFirst = before.firstSeenBy === 'webhook' && before.direction === 'incoming';
  const differing: Field[] = FILLED.filter(
    (field) => isFirst && before[field] !== null && told[field] !== null && before[field] !== told[field],
  );
  if (before.direction !== told.direction) differing.push('direction');
  const isWhole = before.webhooksOnly && before.firstSeenAt >= keptSince;
  const unexplained: Field[] = FILLED.filter(
    (field) => isWhole && before[field] !== null && told[field] === null,
  );
  const isAbove = !told.statusConflict && applyStatus(told.status, before.status).changed;
  if (isWhole && isAbove) unexplained.push('status');
  const fields = [
    ...added.map((field) => show(field, before[field], after[field])),
    ...[...differing, ...unexplained].map((field) => show(field, before[field], told[field])),
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
