import { PlatformError } from '../kernel/platform-error.ts';
import type { StateChange } from '../time/state-change.ts';
import { connectionTold, emitsEvents } from './connection-events.ts';
import { type Connection, readConnection } from './read-connections.ts';
import { type Standing, type Trigger, takeStep } from './transitions.ts';

/** What some triggers bring with them. */
export interface TransitionDetails {
  /** Advisory; of a break. */
  readonly reason?: string;
  /** The number that paired. */
  readonly phoneNumber?: string;
}

/** How a connection stands, under its row lock, held to the end of the transaction. Throws `not_found`. */
async function lockStanding({ tx }: StateChange, connectionId: string): Promise<Standing> {
  const [row] = await tx.query<{ state: Standing['state']; needs: boolean; reported: boolean }>(
    `SELECT state, needs_reconnect AS needs, reported_broken AS reported
     FROM platform.connections WHERE id = $1 FOR UPDATE`,
    [connectionId],
  );
  if (row === undefined) throw new PlatformError('not_found');
  return { state: row.state, needsReconnect: row.needs, reportedBroken: row.reported };
}

async function writeStanding(
  { tx, now }: StateChange,
  connectionId: string,
  { state, needsReconnect, reportedBroken }: Standing,
  phoneNumber: string | null,
): Promise<void> {
  await tx.query(
    `UPDATE platform.connections SET state = $2, needs_reconnect = $3, reported_broken = $4,
       label = CASE WHEN label = '' AND $5::text IS NOT NULL THEN $5 ELSE label END,
       phone_number = coalesce($5, phone_number),
       paired_at = coalesce(paired_at, CASE WHEN $2 = 'live' THEN $6::bigint END)
     WHERE id = $1`,
    [connectionId, state, needsReconnect, reportedBroken, phoneNumber, now],
  );
}

/**
 * Moves a connection's session: the one way in which its state changes. Writes the state and its flags and
 * records the event, where the connection emits any. A connection that nobody named takes the name of its
 * number as it pairs. Answers the connection as it stands then. Throws `not_found`, and for a trigger that
 * cannot happen in its state. Lock order: workspace, then connection. Implements `Connection status`.
 */
export async function applyTransition(
  change: StateChange,
  connectionId: string,
  trigger: Trigger,
  { reason, phoneNumber }: TransitionDetails = {},
): Promise<Connection> {
  const from = await lockStanding(change, connectionId);
  const before = await readConnection(change.tx, connectionId, change.now);
  // [choice.outage.unlicensed]
  const { standing, tells } = takeStep(from, trigger, emitsEvents(before, change.now));
  await writeStanding(change, connectionId, standing, phoneNumber ?? null);
  const connection = await readConnection(change.tx, connectionId, change.now);
  if (tells !== null) {
    await change.recordEvents([connectionTold(connection, tells, reason ?? null, change.now)]);
  }
  return connection;
}
