import { and, eq } from 'drizzle-orm';
import type { MessageStatus } from '../../contract/service/statuses.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { emitsEvents } from '../connections/connection-events.ts';
import { readConnections } from '../connections/read-connections.ts';
import { messages } from '../db/message-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { Receipt } from '../network/network.ts';
import type { StateChange } from '../time/state-change.ts';
import type { NewEvent } from '../webhooks/ledger.ts';
import { messageStatusEvent } from './message-events.ts';
import { applyReceipt, type Standing } from './receipt-ladder.ts';

/**
 * Locks the outgoing messages among these ids, in the order of ids so that two writers never deadlock.
 * [events.status.outbound-only]
 */
async function lockOutgoing({ tx }: StateChange, ids: readonly string[]) {
  const { id, connectionId, status, receipts, waMessageId, direction } = messages;
  const rows = await orm(tx)
    .select({ id, connectionId, status, receipts, waMessageId })
    .from(messages)
    .where(and(isAnyOf(id, ids), eq(direction, 'outgoing')))
    .orderBy(id)
    .for('update');
  return new Map(rows.map((row) => [row.id, row]));
}

/** Updates any number of messages, each with its own values. It is SQL, because drizzle has no such update. */
export const WRITE_STANDINGS = `
  UPDATE platform.messages m SET status = u.status, receipts = u.receipts,
    error_message = CASE WHEN u.status = 'failed' THEN $4 ELSE m.error_message END
  FROM unnest($1::text[], $2::text[], $3::int[]) AS u (id, status, receipts)
  WHERE m.id = u.id`;

async function writeStandings({ tx }: StateChange, moved: ReadonlyMap<string, Standing>): Promise<void> {
  const entries = [...moved];
  await tx.query(WRITE_STANDINGS, [
    entries.map(([id]) => id),
    entries.map(([, standing]) => standing.status),
    entries.map(([, standing]) => standing.receipts),
    ASSUMPTIONS.failureMessage.value,
  ]);
}

/**
 * Applies receipts in order and records an event for each new status. Receipts of messages that were never stored are
 * dropped. Returns the status of each known message and whether a receipt changed anything for it.
 * [events.status.fires]
 */
export async function applyReceipts(
  change: StateChange,
  receipts: readonly Receipt[],
): Promise<Map<string, { status: MessageStatus; changed: boolean }>> {
  const rows = await lockOutgoing(change, [...new Set(receipts.map((receipt) => receipt.messageId))]);
  const known = await readConnections(
    change.tx,
    [...new Set([...rows.values()].map((row) => row.connectionId))],
    change.now,
  );
  const moved = new Map<string, Standing>();
  const events: NewEvent[] = [];
  for (const { messageId, status, at, reportedAt } of receipts) {
    const row = rows.get(messageId);
    const next = row === undefined ? null : applyReceipt(moved.get(messageId) ?? row, status);
    if (row === undefined || next === null) continue;
    moved.set(messageId, next);
    const connection = known.get(row.connectionId);
    if (connection === undefined || !emitsEvents(connection, reportedAt)) continue;
    events.push(messageStatusEvent(connection, { id: messageId, waMessageId: row.waMessageId, status, at }));
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
