import type { OutageCause } from '../../contract/sandbox/connections.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { StateChange } from '../time/state-change.ts';

/** How a connection's session really stands, whatever the service shows. */
export interface NetworkSession {
  /** Messages pass, in both directions. */
  readonly alive: boolean;
  /** The network still knows the session: it can go on without a new pairing. */
  readonly credentials: boolean;
  /** The owner's phone is switched on. */
  readonly phoneOn: boolean;
  /** Digits of the people whom the owner has blocked. */
  readonly blocked: readonly string[];
  /** Why it is not alive; null when it is, or when nobody paired or the owner logged out. */
  readonly cause: OutageCause | null;
  /** An automatic heal of this outage will succeed. */
  readonly heals: boolean;
  /** Names the outage that goes on; null without one. */
  readonly outageId: string | null;
}

/** Sessions on the network. Each call is part of a change of state. */
export interface NetworkSessions {
  /**
   * The session works from now on, with credentials: a phone paired, a restart took it up again, or an
   * outage is over. Ends an outage if there is one; what the network kept for the number follows.
   */
  open(change: StateChange, connectionId: string): Promise<void>;
  /** Logged out, or given up for a new pairing: no session, no credentials, and no outage any more. */
  end(change: StateChange, connectionId: string): Promise<void>;
  read(db: Queryable, connectionId: string): Promise<NetworkSession>;
}

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
};

/** A session under its row lock, held to the end of the transaction. */
export async function lockSession(change: StateChange, connectionId: string): Promise<NetworkSession> {
  const [row] = await change.tx.query<SessionRow>(`${SELECT} FOR UPDATE`, [connectionId]);
  return fromRow(row);
}

/** How a session breaks. */
export interface Break {
  readonly cause: OutageCause;
  readonly outageId: string;
  /** An automatic heal will succeed. */
  readonly heals: boolean;
  readonly keepsCredentials: boolean;
}

/** Breaks a session. The service does not notice by itself. */
export async function breakSession(change: StateChange, connectionId: string, broken: Break): Promise<void> {
  await change.tx.query(
    `UPDATE platform.network_sessions SET alive = false, credentials = $3, cause = $2, heals = $4, outage_id = $5,
       phone_on = phone_on AND $2 <> 'phone_off'
     WHERE connection_id = $1`,
    [connectionId, broken.cause, broken.keepsCredentials, broken.heals, broken.outageId],
  );
}

/** Switches the owner's phone, and says whom it blocks. A connection that no phone came near may have one too. */
export async function writePhone(
  change: StateChange,
  connectionId: string,
  { on, blocked }: { readonly on: boolean; readonly blocked: readonly string[] },
): Promise<void> {
  await change.tx.query(
    `INSERT INTO platform.network_sessions
       (connection_id, alive, credentials, phone_on, blocked)
     VALUES ($1, false, false, $2, $3)
     ON CONFLICT (connection_id) DO UPDATE SET phone_on = excluded.phone_on, blocked = excluded.blocked`,
    [connectionId, on, blocked],
  );
}
