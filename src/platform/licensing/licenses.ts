import { and, desc, eq, isNotNull, isNull } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { Account } from '../../contract/service/account.ts';
import { LIMITS } from '../../contract/service/limits.ts';
import type { LicenseStatus, WorkspaceKind } from '../../contract/service/statuses.ts';
import { orm } from '../../runtime/database/orm.ts';
import { connections, licenses } from '../db/core-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { newIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { ChangeState, StateChange } from '../time/state-change.ts';
import { lockWorkspace } from '../workspaces/workspaces.ts';
import { type License, type LicenseState, licenseState } from './license-state.ts';
import { readSlots } from './read-account.ts';

/** A change by billing. `expiresAt` is virtual epoch ms. */
export interface LicenseChange {
  readonly status?: LicenseStatus;
  readonly expiresAt?: number;
}

/** Changes of licenses by billing. */
export interface Licenses {
  /**
   * Sets the license of a connection. An `expiresAt` in the past expires it; `expired` without `expiresAt` expires it
   * now; `none` removes it. A connection without a license gets a slot from the pool, expired or not, or else an
   * additional slot. Throws `not_found` for an unknown connection, `invalid_request` for a status that contradicts
   * `expiresAt`.
   */
  set(connectionId: string, license: LicenseChange): Promise<LicenseState>;
  /** The slots of workspaces by id; unknown workspaces are left out. */
  slots(workspaceIds: readonly string[]): Promise<Map<string, Account['slots']>>;
}

/** An alias without a schema, which FOR UPDATE OF requires. */
const c = alias(connections, 'c');

interface Current {
  readonly workspaceId: string;
  readonly workspaceKind: WorkspaceKind;
  readonly license: License | null;
}

/** Reads the license under the lock of its workspace, which serializes the use of the pool. */
async function readCurrent({ tx }: StateChange, connectionId: string): Promise<Current> {
  const { workspaceId, id } = connections;
  const [owner] = await orm(tx).select({ workspaceId }).from(connections).where(eq(id, connectionId));
  if (owner === undefined) throw new PlatformError('not_found');
  const { kind: workspaceKind } = await lockWorkspace(tx, owner.workspaceId);
  const [row] = await orm(tx)
    .select({ license: { kind: licenses.kind, expiresAt: licenses.expiresAt } })
    .from(c)
    .leftJoin(licenses, eq(licenses.connectionId, c.id))
    .where(eq(c.id, connectionId))
    .for('update', { of: c });
  if (row === undefined) throw new PlatformError('not_found');
  return { ...owner, workspaceKind, ...row };
}

/** The kind that gives a license the status; its present kind if that fits. */
function chooseKind(status: LicenseStatus | undefined, current: Current): License['kind'] {
  // [service.portal.addon] [service.standalone.bundled]
  const paid = current.workspaceKind === 'crm_portal' ? 'addon' : 'paid';
  if (status === 'trial') return 'trial';
  if (status === 'active') return paid;
  return current.license?.kind ?? paid;
}

function chooseExpiry(change: LicenseChange, current: Current, kind: License['kind'], now: number): number {
  const lapsed = change.status === 'expired';
  const held = current.license?.expiresAt ?? null;
  const fallback = lapsed
    ? Math.min(held ?? now, now)
    : held !== null && held > now
      ? held
      : now + (kind === 'trial' ? LIMITS.trialMs : ASSUMPTIONS.paidLicenseMs.value);
  const expiresAt = change.expiresAt ?? fallback;
  if (change.expiresAt !== undefined && lapsed && expiresAt > now) {
    throw new PlatformError('invalid_request', {
      field: 'expiresAt',
      hint: 'an expired license ended before now',
    });
  }
  return expiresAt;
}

/** Attaches a slot of the pool, if there is one, before an additional one is created. */
async function attachPooled({ tx }: StateChange, workspaceId: string, connectionId: string): Promise<void> {
  const [pooled] = await orm(tx)
    .select({ id: licenses.id })
    .from(licenses)
    .where(and(eq(licenses.workspaceId, workspaceId), isNull(licenses.connectionId)))
    .orderBy(desc(licenses.expiresAt), licenses.id)
    .limit(1);
  if (pooled === undefined) return;
  await orm(tx).update(licenses).set({ connectionId }).where(eq(licenses.id, pooled.id));
}

export function createLicenses(changeState: ChangeState): Licenses {
  return {
    set: (connectionId, license) =>
      changeState(async (change) => {
        const current = await readCurrent(change, connectionId);
        if (license.status === 'none') {
          if (license.expiresAt !== undefined)
            throw new PlatformError('invalid_request', { field: 'expiresAt', hint: '`none` has no expiry' });
          await orm(change.tx).delete(licenses).where(eq(licenses.connectionId, connectionId));
          return licenseState(null, change.now);
        }
        const kind = chooseKind(license.status, current);
        const next: License = { kind, expiresAt: chooseExpiry(license, current, kind, change.now) };
        if (current.license === null) await attachPooled(change, current.workspaceId, connectionId);
        const { workspaceId } = current;
        await orm(change.tx)
          .insert(licenses)
          .values({ id: newIdentifier(), workspaceId, connectionId, ...next, createdAt: change.now })
          .onConflictDoUpdate({
            target: licenses.connectionId,
            targetWhere: isNotNull(licenses.connectionId),
            set: next,
          });
        return licenseState(next, change.now);
      }),
    slots: (workspaceIds) => changeState(({ tx, now }) => readSlots(tx, workspaceIds, now)),
  };
}
