import type { MessageStatus } from '../../contract/service/statuses.ts';
import { emitsEvents } from '../connections/connection-events.ts';
import { readConnections } from '../connections/read-connections.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { Receipt } from '../network/network.ts';
import type { StateChange } from '../time/state-change.ts';
import type { NewEvent } from '../webhooks/ledger.ts';
import { messageStatusTold } from './message-events.ts';
import { applyReceipt, type Standing } from './receipt-ladder.ts';

interface MessageRow extends Standing {
  id: string;
  connection_id: string;
  wa_message_id: string | null;
}

/**
 * Locks the outgoing messages among these ids, in the order of ids so that two writers never deadlock. Those of a
 * deleted connection that are still to be removed count as gone. [events.status.outbound-only]
 */
async function lockOutgoing({ tx }: StateChange, ids: readonly string[]): Promise<Map<string, MessageRow>> {
  const rows = await tx.query<MessageRow>(
    `SELECT id, connection_id, status, receipts, wa_message_id FROM platform.messages m
     WHERE id = ANY($1::text[]) AND direction = 'outgoing'
       AND EXISTS (SELECT 1 FROM platform.connections c WHERE c.id = m.connection_id)
     ORDER BY id FOR UPDATE`,
    [ids],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

async function writeStandings({ tx }: StateChange, moved: ReadonlyMap<string, Standing>): Promise<void> {
  const entries = [...moved];
  await tx.query(
    `UPDATE platform.messages m SET status = u.status, receipts = u.receipts,
       error_message = CASE WHEN u.status = 'failed' THEN $4 ELSE m.error_message END
     FROM unnest($1::text[], $2::text[], $3::int[]) AS u (id, status, receipts)
     WHERE m.id = u.id`,
    [
      entries.map(([id]) => id),
      entries.map(([, standing]) => standing.status),
      entries.map(([, standing]) => standing.receipts),
      ASSUMPTIONS.failureMessage.value,
    ],
  );
}

/**
 * Applies receipts in their order and tells each one that is news. Receipts of messages that the service
 * never stored are dropped. Answers where each known message stands and whether a receipt was news for it.
 * [events.status.fires]
 */
export async function applyReceipts(
  change: StateChange,
  receipts: readonly Receipt[],
): Promise<Map<string, { status: MessageStatus; changed: boolean }>> {
  const rows = await lockOutgoing(change, [...new Set(receipts.map((receipt) => receipt.messageId))]);
  const connections = await readConnections(
    change.tx,
    [...new Set([...rows.values()].map((row) => row.connection_id))],
    change.now,
  );
  const moved = new Map<string, Standing>();
  const events: NewEvent[] = [];
  for (const { messageId, status, at, reportedAt } of receipts) {
    const row = rows.get(messageId);
    const next = row === undefined ? null : applyReceipt(moved.get(messageId) ?? row, status);
    if (row === undefined || next === null) continue;
    moved.set(messageId, next);
    const connection = connections.get(row.connection_id);
    if (connection === undefined || !emitsEvents(connection, reportedAt)) continue;
    events.push(messageStatusTold(connection, { id: messageId, waMessageId: row.wa_message_id, status, at }));
  }
  if (moved.size > 0) await writeStandings(change, moved);
  await change.recordEvents(events);
  return new Map(
    [...rows.values()].map((row) => {
      const next = moved.get(row.id);
      return [row.id, { status: next?.status ?? row.status, changed: next !== undefined }];
    }),
  );
}
