import { and, desc, eq, gt, isNull } from 'drizzle-orm';
import { LIMITS } from '../../contract/service/limits.ts';
import type { WorkspaceKind } from '../../contract/service/statuses.ts';
import { orm } from '../../runtime/database/orm.ts';
import { licenses } from '../db/core-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { newIdentifier } from '../kernel/identifiers.ts';
import type { StateChange } from '../time/state-change.ts';
import { lockWorkspace } from '../workspaces/workspaces.ts';
import type { License } from './license-state.ts';

/** A connection whose number pairs now. */
interface Pairing {
  readonly workspaceId: string;
  readonly connectionId: string;
  /** In a portal workspace: the admin buys the add-on as well. Default: no. */
  readonly addon?: boolean;
}

async function insertLicense({ tx, now }: StateChange, pairing: Pairing, license: License): Promise<void> {
  const { workspaceId, connectionId } = pairing;
  await orm(tx)
    .insert(licenses)
    .values({ id: newIdentifier(), workspaceId, connectionId, ...license, createdAt: now });
}

/**
 * Takes a slot from the pool, with its remaining time. [choice.slot.inherited]
 * [choice.slot.run-out]
 */
async function takePooled({ tx, now }: StateChange, pairing: Pairing): Promise<boolean> {
  const { workspaceId, connectionId } = pairing;
  const { id, expiresAt } = licenses;
  const inPool = and(eq(licenses.workspaceId, workspaceId), isNull(licenses.connectionId));
  const [pooled] = await orm(tx)
    .select({ id })
    .from(licenses)
    .where(and(inPool, gt(expiresAt, now)))
    .orderBy(desc(expiresAt), id)
    .limit(1);
  if (pooled === undefined) return false;
  await orm(tx).update(licenses).set({ connectionId }).where(eq(id, pooled.id));
  return true;
}

async function hasLicense({ tx }: StateChange, { connectionId }: Pairing): Promise<boolean> {
  return (await orm(tx).$count(licenses, eq(licenses.connectionId, connectionId))) > 0;
}

/** Starts the license of a slot that was never used: a trial, or the add-on bought with the connection. */
async function startLicense(
  change: StateChange,
  pairing: Pairing,
  { kind, slots }: { readonly kind: WorkspaceKind; readonly slots: number },
): Promise<void> {
  if (kind === 'crm_portal') {
    const expiresAt = change.now + ASSUMPTIONS.paidLicenseMs.value;
    return insertLicense(change, pairing, { kind: 'addon', expiresAt });
  }
  const used = await orm(change.tx).$count(licenses, eq(licenses.workspaceId, pairing.workspaceId));
  // [connections.create.over-quota]
  if (used >= slots) return;
  // [service.standalone.trial] [service.standalone.bundled]
  return insertLicense(change, pairing, { kind: 'trial', expiresAt: change.now + LIMITS.trialMs });
}

/**
 * Gives a connection its license when its number pairs; an existing license is unchanged. A slot of the pool, with
 * its remaining time, is used first. Otherwise, in a standalone workspace, an unused slot starts a trial of seven
 * days if there is one. In a portal workspace, no license is attached without `addon`. [service.slot.attaches]
 */
export async function attachSlot(change: StateChange, pairing: Pairing): Promise<void> {
  const workspace = await lockWorkspace(change.tx, pairing.workspaceId);
  // [service.portal.addon]
  if (workspace.kind === 'crm_portal' && pairing.addon !== true) return;
  if (await hasLicense(change, pairing)) return;
  if (await takePooled(change, pairing)) return;
  await startLicense(change, pairing, workspace);
}

/**
 * Returns the slot of a connection, if it has one, to its workspace's pool with its remaining time. Called in the
 * transaction that deletes the connection. [service.slot.returns] [state.delete.slot]
 */
export async function returnSlot({ tx }: StateChange, connectionId: string): Promise<void> {
  await orm(tx).update(licenses).set({ connectionId: null }).where(eq(licenses.connectionId, connectionId));
}
