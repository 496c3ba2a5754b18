import type { MessageStatus } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { retryOnce } from '../../runtime/database/retry-once.ts';
import { commitBatch } from '../db/commit-batch.ts';
import type { MessageFacts } from '../db/facts.ts';
import type { MessageKey } from './compare.ts';
import type { Scratch } from './scratch.ts';

interface RebuiltRow extends Omit<MessageFacts, 'source' | 'statusAt'> {
  readonly statusConflict: boolean;
}

/** Texts may have a megabyte each. */
const AT_ONCE = 50;

/**
 * Brings rebuilt messages into the live ones, through the merge that webhooks go through: what is missing is added,
 * no status falls, nothing is erased, and the CRM is told of what changed. Resolves with the number of messages that
 * changed. Repeating it is safe. Throws as `query` does.
 */
export async function applyRebuilt(
  db: Queryable,
  scratch: Scratch,
  keys: readonly MessageKey[],
  now: () => number,
): Promise<number> {
  let changed = 0;
  for (let from = 0; from < keys.length; from += AT_ONCE) {
    const rows = await readRebuilt(scratch, keys.slice(from, from + AT_ONCE));
    const batch = { now: now(), messages: rows.flatMap(toFacts), via: 'replay' };
    const { masks } = await retryOnce(() => commitBatch(db, batch));
    for (const count of masks.values()) changed += count;
  }
  return changed;
}

async function readRebuilt({ db }: Scratch, keys: readonly MessageKey[]): Promise<RebuiltRow[]> {
  return await db.query<RebuiltRow>(
    `SELECT m.connection_id AS "connectionId", m.id AS "messageId", m.account_id AS "accountId", m.direction, m.peer,
            m.text, m.media_url AS "mediaUrl", m.media_type AS "mediaType", m.status,
            m.error_message AS "errorMessage", m.wa_message_id AS "waMessageId", m.created_at AS "createdAt",
            m.webhook_seen AS "webhookSeen", m.status_conflict AS "statusConflict"
       FROM connector.messages m
       JOIN unnest($1::text[], $2::text[]) AS k(id, connection_id) USING (id, connection_id)`,
    [keys.map((key) => key.messageId), keys.map((key) => key.connectionId)],
  );
}

/** The row as a webhook would tell it; where both ends were told, the one that stood comes first. */
function toFacts({ statusConflict, ...row }: RebuiltRow): MessageFacts[] {
  const facts: MessageFacts = { ...row, source: 'webhook', statusAt: 0 };
  if (!statusConflict) return [facts];
  const other: MessageStatus = row.status === 'read' ? 'failed' : 'read';
  return [facts, { ...facts, status: other, statusAt: 1 }];
}

/** How many batches of changes get their numbers at a time. */
const MOST = 1_000;

/** Numbers what was told, so that readers of the feed see it whether or not a connector runs. */
export async function numberChanges(db: Queryable): Promise<void> {
  for (;;) {
    const [row] = await db.query<{ numbered: number }>('SELECT numbered FROM connector.number_changes($1)', [
      MOST,
    ]);
    if (row === undefined || row.numbered < MOST) return;
  }
}
