import { z } from 'zod';
import type { StateChange } from '../time/state-change.ts';
import type { TimerHandler } from '../time/timer-runner.ts';
import { lockWorkspace } from '../workspaces/workspaces.ts';
import type { InboundMessage, NetworkReports, Receipt } from './network.ts';
import { networkSessions } from './sessions.ts';

/** A report that could not reach the service, as it will be told later. */
export type HeldReport =
  | { readonly kind: 'message'; readonly message: InboundMessage }
  | { readonly kind: 'receipt'; readonly receipt: Omit<Receipt, 'reportedAt'> };

/** Keeps reports for a connection, behind what is kept already. */
export async function holdReports(
  { tx }: StateChange,
  connectionId: string,
  reports: readonly HeldReport[],
): Promise<void> {
  await tx.query(
    `INSERT INTO platform.held_reports (connection_id, report)
     SELECT $1, r.report FROM unnest($2::text[]) WITH ORDINALITY AS r (report, place)
     ORDER BY r.place`,
    [connectionId, reports.map((report) => JSON.stringify(report))],
  );
}

/** Takes out what is kept for a connection, in its order. */
export async function takeHeld({ tx }: StateChange, connectionId: string): Promise<HeldReport[]> {
  const rows = await tx.query<{ report: string; position: number }>(
    `WITH taken AS (
       DELETE FROM platform.held_reports WHERE connection_id = $1 RETURNING position, report)
     SELECT report, position FROM taken ORDER BY position`,
    [connectionId],
  );
  return rows.map((row): HeldReport => JSON.parse(row.report));
}

/** Locks connection, then session, for reading: until the end of the change no outage begins or ends. */
async function keepStill({ tx }: StateChange, connectionIds: readonly string[]): Promise<void> {
  await tx.query('SELECT 1 FROM platform.connections WHERE id = ANY($1::text[]) ORDER BY id FOR KEY SHARE', [
    connectionIds,
  ]);
  await tx.query(
    `SELECT 1 FROM platform.network_sessions WHERE connection_id = ANY($1::text[])
     ORDER BY connection_id FOR SHARE`,
    [connectionIds],
  );
}

interface Reach {
  /** Null for an unknown connection. */
  readonly workspaceId: string | null;
  /** A number that has paired is on the network, and out of the service's reach for now. */
  readonly held: boolean;
  readonly blocked: readonly string[];
}

async function readReach({ tx }: StateChange, connectionId: string): Promise<Reach> {
  const [row] = await tx.query<Reach>(
    `SELECT c.workspace_id AS "workspaceId", s.blocked, c.phone_number IS NOT NULL AND (NOT s.alive OR EXISTS (
       SELECT 1 FROM platform.held_reports h WHERE h.connection_id = c.id)) AS held
     FROM platform.connections c JOIN platform.network_sessions s ON s.connection_id = c.id
     WHERE c.id = $1`,
    [connectionId],
  );
  return row ?? { workspaceId: null, held: false, blocked: [] };
}

/**
 * What of the messages that people write to a connection now reaches it now. What a blocked person writes
 * vanishes. While the session does not work the network keeps the rest and hands it over once it does; later
 * ones queue behind it, so that nothing overtakes. To a number that never paired everything passes, to be refused.
 * [choice.outage.messages]
 */
export async function passInbound<Message extends Omit<InboundMessage, 'connectionId' | 'at'>>(
  change: StateChange,
  connectionId: string,
  messages: readonly Message[],
): Promise<readonly Message[]> {
  const { workspaceId, blocked, held } = await readReach(change, connectionId);
  const heard = messages.filter(({ from }) => !blocked.includes(from)); // [choice.blocked]
  if (heard.length === 0 || !held || workspaceId === null) return heard;
  // First, since the session may work by now, and what passes is stored under this lock.
  await lockWorkspace(change.tx, workspaceId);
  await keepStill(change, [connectionId]);
  if (!(await readReach(change, connectionId)).held) return heard;
  await holdReports(
    change,
    connectionId,
    heard.map((message) => ({ kind: 'message', message: { ...message, connectionId, at: change.now } })),
  );
  return [];
}

/** The connections of these messages whose session is not alive. */
async function readDead({ tx }: StateChange, messageIds: readonly string[]): Promise<Map<string, string>> {
  const rows = await tx.query<{ message_id: string; connection_id: string }>(
    `SELECT m.message_id, m.connection_id FROM platform.phone_messages m
     JOIN platform.network_sessions s ON s.connection_id = m.connection_id
     WHERE m.message_id = ANY($1::text[]) AND NOT s.alive`,
    [messageIds],
  );
  return new Map(rows.map((row) => [row.message_id, row.connection_id]));
}

/** The receipts that reach the service now; the network keeps the others. [choice.outage.receipts] */
async function passReceipts(change: StateChange, receipts: readonly Receipt[]): Promise<readonly Receipt[]> {
  const ids = [...new Set(receipts.map(({ messageId }) => messageId))];
  const suspected = await readDead(change, ids);
  if (suspected.size === 0) return receipts;
  await keepStill(change, [...new Set(suspected.values())]);
  const dead = await readDead(change, ids);
  const held = Map.groupBy(
    receipts.filter(({ messageId }) => dead.has(messageId)),
    ({ messageId }) => dead.get(messageId) ?? '',
  );
  for (const [connectionId, kept] of held) {
    await holdReports(
      change,
      connectionId,
      kept.map(({ reportedAt: _, ...receipt }) => ({ kind: 'receipt', receipt })),
    );
  }
  return receipts.filter(({ messageId }) => !dead.has(messageId));
}

/** Reports go through the session of their connection: what it cannot carry now comes later. */
export function throughSessions(reports: NetworkReports): NetworkReports {
  return {
    async receipts(change, receipts) {
      const passing = await passReceipts(change, receipts);
      if (passing.length > 0) await reports.receipts(change, passing);
    },
    async inbound(change, message) {
      const [passing] = await passInbound(change, message.connectionId, [message]);
      if (passing !== undefined) await reports.inbound(change, passing);
    },
  };
}

const catchUpTimer = z.object({ connectionId: z.string() });

async function catchUp(change: StateChange, reports: NetworkReports, connectionId: string): Promise<void> {
  const [owner] = await change.tx.query<{ workspace_id: string }>(
    'SELECT workspace_id FROM platform.connections WHERE id = $1',
    [connectionId],
  );
  if (owner === undefined) return;
  await lockWorkspace(change.tx, owner.workspace_id);
  const { alive } = await networkSessions.lock(change, connectionId);
  if (!alive) return;
  for (const held of await takeHeld(change, connectionId)) {
    if (held.kind === 'message') await reports.inbound(change, { ...held.message, at: change.now });
    else await reports.receipts(change, [{ ...held.receipt, reportedAt: change.now }]);
  }
}

/** Hands over what was kept. A session that has died again by then gets it after its next recovery. */
export function catchUpTimers(reports: NetworkReports): Readonly<Record<string, TimerHandler>> {
  return {
    'network.catch_up': {
      alone: true,
      async fire(change, timers) {
        for (const { payload } of timers) {
          await catchUp(change, reports, catchUpTimer.parse(payload).connectionId);
        }
      },
    },
  };
}
