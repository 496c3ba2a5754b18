import { eq } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { heldReports, networkSessions } from '../db/session-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { StateChange } from '../time/state-change.ts';
import type { NetworkSession, NetworkSessions } from './network.ts';

/** The session of a connection without a row. */
const NONE: NetworkSession = {
  alive: false,
  credentials: false,
  phoneOn: true,
  blocked: [],
  cause: null,
  heals: false,
  outageId: null,
};

/** The row of a connection, if there is one. */
function select(db: Queryable, connectionId: string) {
  const { alive, credentials, phoneOn, blocked, cause, heals, outageId } = networkSessions;
  return orm(db)
    .select({ alive, credentials, phoneOn, blocked, cause, heals, outageId })
    .from(networkSessions)
    .where(eq(networkSessions.connectionId, connectionId));
}

type Row = Awaited<ReturnType<typeof select>>[number];

function toSession([row]: readonly Row[]): NetworkSession {
  return row === undefined ? NONE : { ...row, heals: row.heals === true };
}

async function write({ tx }: StateChange, connectionId: string, alive: boolean): Promise<void> {
  const well = { alive, credentials: alive, cause: null, heals: null, outageId: null };
  await orm(tx)
    .insert(networkSessions)
    .values({ connectionId, ...well, phoneOn: true, blocked: [] })
    .onConflictDoUpdate({
      target: networkSessions.connectionId,
      set: { ...well, ...(alive ? { phoneOn: true } : {}) },
    });
}

/** Schedules a report of what is kept for a connection, if anything is. */
export async function planCatchUp(change: StateChange, connectionId: string, dueAt: number): Promise<void> {
  const kept = await orm(change.tx)
    .select({ position: heldReports.position })
    .from(heldReports)
    .where(eq(heldReports.connectionId, connectionId))
    .limit(1);
  if (kept.length > 0)
    await change.schedule([{ kind: 'network.catch_up', dueAt, payload: { connectionId } }]);
}

export const simulatedSessions: NetworkSessions = {
  async open(change, connectionId) {
    await write(change, connectionId, true);
    await planCatchUp(change, connectionId, change.now + ASSUMPTIONS.catchUpAfterMs.value);
  },

  end: (change, connectionId) => write(change, connectionId, false),

  read: async (db, connectionId) => toSession(await select(db, connectionId)),

  async readCauses(db, connectionIds) {
    const { connectionId, cause } = networkSessions;
    const rows = await orm(db)
      .select({ connectionId, cause })
      .from(networkSessions)
      .where(isAnyOf(connectionId, connectionIds));
    return new Map(
      rows.flatMap((row) => (row.cause === null ? [] : [[row.connectionId, row.cause] as const])),
    );
  },

  lock: async ({ tx }, connectionId) => toSession(await select(tx, connectionId).for('update')),

  async break({ tx }, connectionId, { cause, outageId, heals, keepsCredentials }) {
    await orm(tx)
      .update(networkSessions)
      .set({
        ...{ alive: false, credentials: keepsCredentials, cause, heals, outageId },
        ...(cause === 'phone_off' ? { phoneOn: false } : {}),
      })
      .where(eq(networkSessions.connectionId, connectionId));
  },

  async setPhone({ tx }, connectionId, { on: phoneOn, blocked }) {
    await orm(tx)
      .insert(networkSessions)
      .values({ connectionId, alive: false, credentials: false, phoneOn, blocked })
      .onConflictDoUpdate({ target: networkSessions.connectionId, set: { phoneOn, blocked } });
  },
};
