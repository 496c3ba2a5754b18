import { eq, sql } from 'drizzle-orm';
import { orm } from '../../runtime/database/orm.ts';
import { connections } from '../db/core-tables.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { StateChange } from '../time/state-change.ts';
import { connectionEvent, emitsEvents } from './connection-events.ts';
import { type Connection, readConnection } from './read-connections.ts';
import { type Standing, type Trigger, takeStep } from './transitions.ts';

/** Values that some triggers carry. */
export interface TransitionDetails {
  /** Of an outage; advisory. */
  readonly reason?: string;
  /** The number that paired. */
  readonly phoneNumber?: string;
}

/** Locks the row of a connection until the end of the transaction and reads its state. Throws `not_found`. */
async function lockStanding({ tx }: StateChange, connectionId: string): Promise<Standing> {
  const { state, needsReconnect, reportedBroken } = connections;
  const [standing] = await orm(tx)
    .select({ state, needsReconnect, reportedBroken })
    .from(connections)
    .where(eq(connections.id, connectionId))
    .for('update');
  if (standing === undefined) throw new PlatformError('not_found');
  return standing;
}

async function writeStanding(
  { tx, now }: StateChange,
  connectionId: string,
  standing: Standing,
  phoneNumber: string | undefined,
): Promise<void> {
  const { id, label, pairedAt } = connections;
  await orm(tx)
    .update(connections)
    .set({
      ...standing,
      phoneNumber,
      ...(phoneNumber === undefined ? {} : { label: sql`coalesce(nullif(${label}, ''), ${phoneNumber})` }),
      ...(standing.state === 'live' ? { pairedAt: sql`coalesce(${pairedAt}, ${now})` } : {}),
    })
    .where(eq(id, connectionId));
}

/**
 * Changes the state of a connection; nothing else does. Writes the state and its flags, and records the event if
 * the connection emits events. A connection without a label gets its number as the label when it pairs. Returns the
 * connection after the change. Throws `not_found`, and an error for a trigger that cannot happen in its state.
 * Lock order: workspace, then connection. Implements `Connection status`.
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
  const { standing, sends } = takeStep(from, trigger, emitsEvents(before, change.now));
  await writeStanding(change, connectionId, standing, phoneNumber);
  await change.recordTransition({
    ...{ connectionId, trigger, from: from.state, reason: reason ?? null, event: sends },
    ...{ to: standing.state, needsReconnect: standing.needsReconnect },
  });
  const connection = await readConnection(change.tx, connectionId, change.now);
  if (sends !== null) {
    await change.recordEvents([connectionEvent(connection, sends, reason ?? null, change.now)]);
  }
  return connection;
}
