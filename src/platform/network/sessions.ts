import type { OutageCause } from '../../contract/sandbox/connections.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { StateChange } from '../time/state-change.ts';
import type { NetworkSession, NetworkSessions } from './network.ts';

interface SessionRow {
  alive: boolean;
  credentials: boolean;
  phone_on: boolean;
  blocked: string[];
  cause: OutageCause | null;
  heals: boolean | null;
  outage_id: string | null;
}

/** Before any phone came near. */
const NONE: NetworkSession = {
  alive: false,
  credentials: false,
  phoneOn: true,
  blocked: [],
  cause: null,
  heals: false,
  outageId: null,
};

const SELECT = `
  SELECT alive, credentials, phone_on, blocked, cause, heals, outage_id
  FROM platform.network_sessions WHERE connection_id = $1`;

function fromRow(row: SessionRow | undefined): NetworkSession {
  if (row === undefined) return NONE;
  const { alive, credentials, blocked, cause } = row;
  const { phone_on: phoneOn, heals, outage_id: outageId } = row;
  return { alive, credentials, phoneOn, blocked, cause, heals: heals === true, outageId };
}

async function write(change: StateChange, connectionId: string, alive: boolean): Promise<void> {
  await change.tx.query(
    `INSERT INTO platform.network_sessions
       (connection_id, alive, credentials, cause, heals, outage_id, phone_on, blocked)
     VALUES ($1, $2, $2, NULL, NULL, NULL, true, '{}')
     ON CONFLICT (connection_id) DO UPDATE SET alive = excluded.alive, credentials = excluded.credentials,
       cause = NULL, heals = NULL, outage_id = NULL, phone_on = network_sessions.phone_on OR excluded.alive`,
    [connectionId, alive],
  );
}

export const networkSessions: NetworkSessions = {
  async open(change, connectionId) {
    await write(change, connectionId, true);
    const dueAt = change.now + ASSUMPTIONS.catchUpAfterMs.value;
    const kept = await change.tx.query(
      'SELECT 1 FROM platform.held_reports WHERE connection_id = $1 LIMIT 1',
      [connectionId],
    );
    if (kept.length > 0)
      await change.schedule([{ kind: 'network.catch_up', dueAt, payload: { connectionId } }]);
  },

  end: (change, connectionId) => write(change, connectionId, false),

  async read(db, connectionId) {
    const [row] = await db.query<SessionRow>(SELECT, [connectionId]);
    return fromRow(row);
  },
  async lock({ tx }, connectionId) {
    const [row] = await tx.query<SessionRow>(`${SELECT} FOR UPDATE`, [connectionId]);
    return fromRow(row);
  },
  async break({ tx }, connectionId, { cause, outageId, heals, keepsCredentials }) {
    await tx.query(
      `UPDATE platform.network_sessions SET alive = false, credentials = $3, cause = $2, heals = $4, outage_id = $5,
         phone_on = phone_on AND $2 <> 'phone_off'
       WHERE connection_id = $1`,
      [connectionId, cause, keepsCredentials, heals, outageId],
    );
  },
  async setPhone({ tx }, connectionId, { on, blocked }) {
    await tx.query(
      `INSERT INTO platform.network_sessions
         (connection_id, alive, credentials, phone_on, blocked)
       VALUES ($1, false, false, $2, $3)
       ON CONFLICT (connection_id) DO UPDATE SET phone_on = excluded.phone_on, blocked = excluded.blocked`,
      [connectionId, on, blocked],
    );
  },
};
