import { and, count, eq, sql } from 'drizzle-orm';
import type { Account } from '../../contract/service/account.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import type { Credential } from '../credentials/credential.ts';
import { connections, licenses, workspaces } from '../db/core-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { PlatformError } from '../kernel/platform-error.ts';

/**
 * The slots of workspaces by id; unknown ones are left out. One that has run out is renewed late, but the one that
 * runs out next still comes first.
 * [service.slot.capacity] [choice.slot.run-out]
 */
export async function readSlots(
  db: Queryable,
  workspaceIds: readonly string[],
  now: number,
): Promise<Map<string, Account['slots']>> {
  const { id, connectionId, expiresAt } = licenses;
  const rows = await orm(db)
    .select({
      workspaceId: workspaces.id,
      /** Slots of the plan; null in a portal workspace, which has only add-ons. */
      planned: sql<number | null>`case ${workspaces.kind} when 'standalone' then ${workspaces.slots} end`,
      /** Slots used so far, in the pool or attached. */
      opened: count(id),
      attached: count(connectionId),
      /** Slots in the pool that have not expired. */
      pooled: sql<number>`count(${id}) filter (where ${connectionId} is null and ${expiresAt} > ${now})`,
      nextExpiry: sql<
        number | null
      >`coalesce(min(${expiresAt}) filter (where ${expiresAt} > ${now}), min(${expiresAt}))`,
    })
    .from(workspaces)
    .leftJoin(licenses, eq(licenses.workspaceId, workspaces.id))
    .where(isAnyOf(workspaces.id, workspaceIds))
    .groupBy(workspaces.id);
  return new Map(rows.map((row) => [row.workspaceId, toSlots(row)]));
}

// [account.connections.connected] [account.connections.needsReconnect] [state.outage.counted]
// [choice.unpaired]
async function countConnections(db: Queryable, { workspaceId, connectionIds }: Credential) {
  const { id, state, needsReconnect } = connections;
  const [row] = await orm(db)
    .select({
      total: count(),
      connected: sql<number>`count(*) filter (where ${state} = 'live')`,
      needsReconnect: sql<number>`count(*) filter (where ${needsReconnect})`,
    })
    .from(connections)
    .where(
      and(
        eq(connections.workspaceId, workspaceId),
        connectionIds === null ? undefined : isAnyOf(id, connectionIds),
      ),
    );
  return row;
}

interface SlotCounts {
  readonly planned: number | null;
  readonly opened: number;
  readonly attached: number;
  readonly pooled: number;
  readonly nextExpiry: number | null;
}

function toSlots(row: SlotCounts): Account['slots'] {
  const { planned, opened, attached, pooled } = row;
  const neverUsed = planned === null ? 0 : Math.max(0, planned - opened);
  return {
    total: Math.max(planned ?? 0, opened),
    used: attached,
    // [account.slots.available] [service.slot.returns] [choice.account.portal]
    available: planned === null ? ASSUMPTIONS.accountOfPortal.value.available : neverUsed + pooled,
    // [account.slots.nextExpiry] [choice.next-expiry]
    nextExpiry: row.nextExpiry === null ? null : toIso(row.nextExpiry),
  };
}

/**
 * The account as it is visible to a credential: the slots of its workspace, and counts of the connections that it
 * reaches, whatever their license and whether or not they have ever paired. Throws `invalid_key` if the workspace no
 * longer exists. [choice.account.reach]
 */
export async function readAccount(db: Queryable, credential: Credential, now: number): Promise<Account> {
  const slots = (await readSlots(db, [credential.workspaceId], now)).get(credential.workspaceId);
  const counts = await countConnections(db, credential);
  if (slots === undefined || counts === undefined)
    throw new PlatformError('invalid_key', { why: 'its workspace was deleted during the call' });
  return { slots, connections: counts };
}
