import { and, eq, exists, inArray, not, sql } from 'drizzle-orm';
import { z } from 'zod';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { connections } from '../db/core-tables.ts';
import { phoneMessages } from '../db/network-tables.ts';
import { heldReports, networkSessions } from '../db/session-tables.ts';
import type { StateChange } from '../time/state-change.ts';
import type { TimerHandler } from '../time/timer-runner.ts';
import { lockWorkspace } from '../workspaces/workspaces.ts';
import type { InboundMessage, NetworkReports, Receipt } from './network.ts';
import { planCatchUp, simulatedSessions } from './sessions.ts';

/** The maximum of kept reports per transaction: thousands would not meet its deadline. */
export const CATCH_UP_STEP = 100;

/** A report that could not reach the service and is kept for later. */
export type HeldReport =
  | { readonly kind: 'message'; readonly message: InboundMessage }
  | { readonly kind: 'receipt'; readonly receipt: Omit<Receipt, 'reportedAt'> };

/** Appends reports to those kept for a connection. */
export async function holdReports(
  { tx }: StateChange,
  connectionId: string,
  reports: readonly HeldReport[],
): Promise<void> {
  const rows = reports.map((report) => ({ connectionId, report: JSON.stringify(report) }));
  if (rows.length > 0) await orm(tx).insert(heldReports).values(rows);
}

/** Removes and returns the oldest reports kept for a connection, in order. */
export async function takeHeld({ tx }: StateChange, connectionId: string): Promise<HeldReport[]> {
  const { position, report } = heldReports;
  const oldest = orm(tx)
    .select({ position })
    .from(heldReports)
    .where(eq(heldReports.connectionId, connectionId))
    .orderBy(position)
    .limit(CATCH_UP_STEP);
  const rows = await orm(tx)
    .delete(heldReports)
    .where(inArray(position, oldest))
    .returning({ position, report });
  return rows.sort((a, b) => a.position - b.position).map((row): HeldReport => JSON.parse(row.report));
}

/** Takes shared locks on connections, then sessions, so that no outage begins or ends until the transaction ends. */
async function keepStill({ tx }: StateChange, connectionIds: readonly string[]): Promise<void> {
  const { id } = connections;
  const { connectionId } = networkSessions;
  await orm(tx)
    .select({ id })
    .from(connections)
    .where(isAnyOf(id, connectionIds))
    .orderBy(id)
    .for('key share');
  await orm(tx)
    .select({ connectionId })
    .from(networkSessions)
    .where(isAnyOf(connectionId, connectionIds))
    .orderBy(connectionId)
    .for('share');
}

interface Reach {
  /** Null for an unknown connection. */
  readonly workspaceId: string | null;
  /** The number has paired, but the service cannot be reached for it now, or earlier reports are waiting. */
  readonly held: boolean;
  readonly blocked: readonly string[];
}

async function readReach({ tx }: StateChange, connectionId: string): Promise<Reach> {
  const { alive, blocked } = networkSessions;
  const waiting = orm(tx).select().from(heldReports).where(eq(heldReports.connectionId, connections.id));
  const [row] = await orm(tx)
    .select({
      workspaceId: connections.workspaceId,
      blocked,
      held: sql<boolean>`${connections.phoneNumber} is not null and (not ${alive} or ${exists(waiting)})`,
    })
    .from(connections)
    .innerJoin(networkSessions, eq(networkSessions.connectionId, connections.id))
    .where(eq(connections.id, connectionId));
  return row ?? { workspaceId: null, held: false, blocked: [] };
}

/**
 * Returns the messages to a connection that reach it now. Messages of blocked people are dropped. While the session
 * does not work, the network keeps messages and reports them once it works; later ones queue behind them, so that the
 * order is kept. For a number that never paired, all messages pass, and the service refuses them.
 * [choice.outage.messages]
 */
export async function passInbound<Message extends Omit<InboundMessage, 'connectionId' | 'at'>>(
  change: StateChange,
  connectionId: string,
  messages: readonly Message[],
): Promise<readonly Message[]> {
  const { workspaceId, blocked, held } = await readReach(change, connectionId);
  const accepted = messages.filter(({ from }) => !blocked.includes(from)); // [choice.blocked]
  if (accepted.length === 0 || !held || workspaceId === null) return accepted;
  // Locked before the session is read again: messages that pass are stored under this lock.
  await lockWorkspace(change.tx, workspaceId);
  await keepStill(change, [connectionId]);
  if (!(await readReach(change, connectionId)).held) return accepted;
  await holdReports(
    change,
    connectionId,
    accepted.map((message) => ({ kind: 'message', message: { ...message, connectionId, at: change.now } })),
  );
  return [];
}

/** Connections of these messages that have no working session, by message id. */
async function readDead({ tx }: StateChange, messageIds: readonly string[]): Promise<Map<string, string>> {
  const { messageId, connectionId } = phoneMessages;
  const rows = await orm(tx)
    .select({ messageId, connectionId })
    .from(phoneMessages)
    .innerJoin(networkSessions, eq(networkSessions.connectionId, connectionId))
    .where(and(isAnyOf(messageId, messageIds), not(networkSessions.alive)));
  return new Map(rows.map((row) => [row.messageId, row.connectionId]));
}

/** Returns the receipts that reach the service now; the network keeps the others. [choice.outage.receipts] */
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

/** Passes reports through the session of their connection, and keeps them while it does not work. */
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
  const [owner] = await orm(change.tx)
    .select({ workspaceId: connections.workspaceId })
    .from(connections)
    .where(eq(connections.id, connectionId));
  if (owner === undefined) return;
  await lockWorkspace(change.tx, owner.workspaceId);
  const { alive } = await simulatedSessions.lock(change, connectionId);
  if (!alive) return;
  for (const held of await takeHeld(change, connectionId)) {
    if (held.kind === 'message') await reports.inbound(change, { ...held.message, at: change.now });
    else await reports.receipts(change, [{ ...held.receipt, reportedAt: change.now }]);
  }
  await planCatchUp(change, connectionId, change.now);
}

/**
 * The timer that reports what was kept, one step per transaction; messages meanwhile queue behind the rest. If the
 * session has broken again, this happens after its next recovery.
 */
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
