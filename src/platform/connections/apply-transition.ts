import { eq, sql } from 'drizzle-orm';
import { orm } from '../../runtime/database/orm.ts';
import { connections } from '../db/core-tables.ts';
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
  await writeStanding(change, connectionId, standing, phoneNumber);
  await change.recordTransition({
    ...{ connectionId, trigger, from: from.state, reason: reason ?? null, event: tells },
    ...{ to: standing.state, needsReconnect: standing.needsReconnect },
  });
  const connection = await readConnection(change.tx, connectionId, change.now);
  if (tells !== null) {
    await change.recordEvents([connectionTold(connection, tells, reason ?? null, change.now)]);
  }
  return connection;
}
