import type { Account } from '../../contract/service/account.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { Credential } from '../credentials/credential.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';

interface SlotRow {
  /** Slots that the workspace has by its plan; null in a portal workspace, which has add-ons alone. */
  planned: number | null;
  /** Slots that were ever used, in the pool or attached. */
  opened: number;
  attached: number;
  /** In the pool, with time left. */
  pooled: number;
  next_expiry: number | null;
}

interface ConnectionRow {
  total: number;
  connected: number;
  needs_reconnect: number;
}

/**
 * A slot that has run out is renewed late; the next one to run out comes first all the same.
 * [service.slot.capacity] [choice.slot.run-out]
 */
const SLOTS = `
  SELECT CASE w.kind WHEN 'standalone' THEN w.slots END AS planned,
    count(l.id)::int AS opened,
    count(l.connection_id)::int AS attached,
    count(l.id) FILTER (WHERE l.connection_id IS NULL AND l.expires_at > $2)::int AS pooled,
    coalesce(min(l.expires_at) FILTER (WHERE l.expires_at > $2), min(l.expires_at)) AS next_expiry
  FROM platform.workspaces w LEFT JOIN platform.licences l ON l.workspace_id = w.id
  WHERE w.id = $1 GROUP BY w.id`;

// [account.connections.connected] [account.connections.needsReconnect] [state.outage.counted]
// [choice.unpaired]
const CONNECTIONS = `
  SELECT count(*)::int AS total,
    count(*) FILTER (WHERE state = 'live')::int AS connected,
    count(*) FILTER (WHERE needs_reconnect)::int AS needs_reconnect
  FROM platform.connections WHERE workspace_id = $1 AND ($2::text[] IS NULL OR id = ANY($2::text[]))`;

function toSlots(row: SlotRow): Account['slots'] {
  const { planned, opened, attached, pooled } = row;
  const neverUsed = planned === null ? 0 : Math.max(0, planned - opened);
  return {
    total: Math.max(planned ?? 0, opened),
    used: attached,
    // [account.slots.available] [service.slot.returns] [choice.account.portal]
    available: planned === null ? ASSUMPTIONS.accountOfPortal.value.available : neverUsed + pooled,
    // [account.slots.nextExpiry] [choice.next-expiry]
    nextExpiry: row.next_expiry === null ? null : toIso(row.next_expiry),
  };
}

/**
 * The account as a credential sees it: the slots of its workspace, and counts of the connections that it
 * reaches, whatever their licence and whether or not they ever paired. [choice.account.reach]
 */
export async function readAccount(db: Queryable, credential: Credential, now: number): Promise<Account> {
  const { workspaceId, connectionIds } = credential;
  const [slots] = await db.query<SlotRow>(SLOTS, [workspaceId, now]);
  const [counts] = await db.query<ConnectionRow>(CONNECTIONS, [workspaceId, connectionIds]);
  if (slots === undefined || counts === undefined)
    throw new Error('the workspace of a credential is missing');
  return {
    slots: toSlots(slots),
    connections: {
      total: counts.total,
      connected: counts.connected,
      needsReconnect: counts.needs_reconnect,
    },
  };
}
