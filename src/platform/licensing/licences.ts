import { and, desc, eq, isNotNull, isNull } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { LicenseStatus, WorkspaceKind } from '../../contract/service/statuses.ts';
import { orm } from '../../runtime/database/orm.ts';
import { connections, licences } from '../db/core-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { newIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { ChangeState, StateChange } from '../time/state-change.ts';
import { lockWorkspace } from '../workspaces/workspaces.ts';
import { type Licence, type LicenceState, licenceState } from './licence-state.ts';

/** What billing sets. `expiresAt` is virtual epoch ms. */
export interface LicenceChange {
  readonly status?: LicenseStatus;
  readonly expiresAt?: number;
}

/** Licences, as billing moves them. */
export interface Licences {
  /**
   * Sets the licence of a connection. `expiresAt` in the past lapses it by itself; `expired` alone lapses it
   * now; `none` takes it away. A connection without one gets a slot from the pool, run out or not, else one more
   * slot. Throws `not_found` for an unknown connection, `invalid_request` for a status that its `expiresAt`
   * contradicts.
   */
  set(connectionId: string, licence: LicenceChange): Promise<LicenceState>;
}

/** Under a name without a schema, as FOR UPDATE OF wants it. */
const c = alias(connections, 'c');

interface Current {
  readonly workspaceId: string;
  readonly workspaceKind: WorkspaceKind;
  readonly licence: Licence | null;
}

/** Reads the licence under the lock of its workspace: slots of a pool are taken one at a time. */
async function readCurrent({ tx }: StateChange, connectionId: string): Promise<Current> {
  const { workspaceId, id } = connections;
  const [owner] = await orm(tx).select({ workspaceId }).from(connections).where(eq(id, connectionId));
  if (owner === undefined) throw new PlatformError('not_found');
  const { kind: workspaceKind } = await lockWorkspace(tx, owner.workspaceId);
  const [row] = await orm(tx)
    .select({ licence: { kind: licences.kind, expiresAt: licences.expiresAt } })
    .from(c)
    .leftJoin(licences, eq(licences.connectionId, c.id))
    .where(eq(c.id, connectionId))
    .for('update', { of: c });
  if (row === undefined) throw new PlatformError('not_found');
  return { ...owner, workspaceKind, ...row };
}

/** The kind that makes a licence read as `status`; the kind it has, where either would do. */
function chooseKind(status: LicenseStatus | undefined, current: Current): Licence['kind'] {
  // [service.portal.addon] [service.standalone.bundled]
  const paid = current.workspaceKind === 'crm_portal' ? 'addon' : 'paid';
  if (status === 'trial') return 'trial';
  if (status === 'active') return paid;
  return current.licence?.kind ?? paid;
}

function chooseExpiry(change: LicenceChange, current: Current, now: number): number {
  const lapsed = change.status === 'expired';
  const held = current.licence?.expiresAt ?? null;
  const fallback = lapsed
    ? Math.min(held ?? now, now)
    : held !== null && held > now
      ? held
      : now + ASSUMPTIONS.paidLicenceMs.value;
  const expiresAt = change.expiresAt ?? fallback;
  if (change.expiresAt !== undefined && lapsed && expiresAt > now) {
    throw new PlatformError('invalid_request', {
      field: 'expiresAt',
      hint: 'an expired licence ended before now',
    });
  }
  return expiresAt;
}

/** A renewed slot of the pool comes before one more: nobody pays for two where one lies idle. */
async function attachPooled({ tx }: StateChange, workspaceId: string, connectionId: string): Promise<void> {
  const [pooled] = await orm(tx)
    .select({ id: licences.id })
    .from(licences)
    .where(and(eq(licences.workspaceId, workspaceId), isNull(licences.connectionId)))
    .orderBy(desc(licences.expiresAt), licences.id)
    .limit(1);
  if (pooled === undefined) return;
  await orm(tx).update(licences).set({ connectionId }).where(eq(licences.id, pooled.id));
}

export function createLicences(changeState: ChangeState): Licences {
  return {
    set: (connectionId, licence) =>
      changeState(async (change) => {
        const current = await readCurrent(change, connectionId);
        if (licence.status === 'none') {
          await orm(change.tx).delete(licences).where(eq(licences.connectionId, connectionId));
          return licenceState(null, change.now);
        }
        const next: Licence = {
          kind: chooseKind(licence.status, current),
          expiresAt: chooseExpiry(licence, current, change.now),
        };
        if (current.licence === null) await attachPooled(change, current.workspaceId, connectionId);
        const { workspaceId } = current;
        await orm(change.tx)
          .insert(licences)
          .values({ id: newIdentifier(), workspaceId, connectionId, ...next, createdAt: change.now })
          .onConflictDoUpdate({
            target: licences.connectionId,
            targetWhere: isNotNull(licences.connectionId),
            set: next,
          });
        return licenceState(next, change.now);
      }),
  };
}
