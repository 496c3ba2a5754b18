import type { MessageStatus } from '../../contract/service/statuses.ts';
import { applyStatus } from '../../patterns/message-status.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { FoldedMessage } from '../db/fold-facts.ts';

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

/** A message as it is stored. */
export interface LiveMessage {
  readonly connectionId: string;
  readonly messageId: string;
  readonly accountId: string;
  readonly direction: 'incoming' | 'outgoing';
  readonly peer: string | null;
  readonly text: string | null;
  readonly mediaUrl: string | null;
  readonly mediaType: string | null;
  readonly waMessageId: string | null;
  readonly status: MessageStatus | null;
  readonly statusConflict: boolean;
  readonly createdAt: number;
  readonly webhookSeen: number;
  readonly firstSeenBy: 'webhook' | 'poll' | 'send';
  readonly firstSeenAt: number;
  /** Neither a poll nor a send told of it. */
  readonly webhooksOnly: boolean;
}

/** Reads messages by their ids. `lock` holds them to the end of the transaction, in the order of the merge. */
export async function readLiveMessages(
  db: Queryable,
  ids: readonly string[],
  lock = '',
): Promise<readonly LiveMessage[]> {
  return await db.query<LiveMessage>(
    `SELECT m.connection_id AS "connectionId", m.id AS "messageId", m.account_id AS "accountId", m.direction, m.peer,
            m.text, m.media_url AS "mediaUrl", m.media_type AS "mediaType", m.wa_message_id AS "waMessageId", m.status,
            m.status_conflict AS "statusConflict", m.created_at AS "createdAt", m.webhook_seen AS "webhookSeen",
            m.first_seen_by AS "firstSeenBy", m.first_seen_at AS "firstSeenAt",
            m.first_seen_by = 'webhook' AND NOT m.polled AND NOT EXISTS (
              SELECT FROM connector.changes c WHERE c.message_id = m.id AND c.source <> 'webhook') AS "webhooksOnly"
       FROM connector.messages m WHERE m.id = ANY($1::text[]) ORDER BY m.connection_id, m.id ${lock}`,
    [ids],
  );
}

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
  const { messageId, connectionId } = after;
  if (before === undefined) {
    const known = [...FILLED, 'status', 'createdAt'] as const;
    const fields = known.filter((field) => after[field] !== null);
    return {
      messageId,
      connectionId,
      kind: 'missing',
      fields: fields.map((field) => show(field, null, after[field])),
    };
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
