import type { LicenseStatus, WorkspaceKind } from '../../contract/service/statuses.ts';
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

interface CurrentRow {
  workspace_id: string;
  workspace_kind: WorkspaceKind;
  kind: Licence['kind'] | null;
  expires_at: number | null;
}

/** Reads the licence under the lock of its workspace: slots of a pool are taken one at a time. */
async function readCurrent({ tx }: StateChange, connectionId: string): Promise<CurrentRow> {
  const [owner] = await tx.query<{ workspace_id: string }>(
    'SELECT workspace_id FROM platform.connections WHERE id = $1',
    [connectionId],
  );
  if (owner === undefined) throw new PlatformError('not_found');
  await lockWorkspace(tx, owner.workspace_id);
  const [row] = await tx.query<CurrentRow>(
    `SELECT c.workspace_id, w.kind AS workspace_kind, l.kind, l.expires_at
     FROM platform.connections c
     JOIN platform.workspaces w ON w.id = c.workspace_id
     LEFT JOIN platform.licences l ON l.connection_id = c.id
     WHERE c.id = $1 FOR UPDATE OF c`,
    [connectionId],
  );
  if (row === undefined) throw new PlatformError('not_found');
  return row;
}

/** The kind that makes a licence read as `status`; the kind it has, where either would do. */
function chooseKind(status: LicenseStatus | undefined, current: CurrentRow): Licence['kind'] {
  // [service.portal.addon] [service.standalone.bundled]
  const paid = current.workspace_kind === 'crm_portal' ? 'addon' : 'paid';
  if (status === 'trial') return 'trial';
  if (status === 'active') return paid;
  return current.kind ?? paid;
}

function chooseExpiry(change: LicenceChange, current: CurrentRow, now: number): number {
  const lapsed = change.status === 'expired';
  const held = current.expires_at;
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
  await tx.query(
    `UPDATE platform.licences SET connection_id = $2 WHERE id = (
       SELECT id FROM platform.licences WHERE workspace_id = $1 AND connection_id IS NULL
       ORDER BY expires_at DESC, id LIMIT 1)`,
    [workspaceId, connectionId],
  );
}

export function createLicences(changeState: ChangeState): Licences {
  return {
    set: (connectionId, licence) =>
      changeState(async (change) => {
        const current = await readCurrent(change, connectionId);
        if (licence.status === 'none') {
          await change.tx.query('DELETE FROM platform.licences WHERE connection_id = $1', [connectionId]);
          return licenceState(null, change.now);
        }
        const next: Licence = {
          kind: chooseKind(licence.status, current),
          expiresAt: chooseExpiry(licence, current, change.now),
        };
        if (current.kind === null) await attachPooled(change, current.workspace_id, connectionId);
        await change.tx.query(
          `INSERT INTO platform.licences (id, workspace_id, connection_id, kind, expires_at, created_at)
           VALUES ($1, $2, $3, $4, $5, $6)
           ON CONFLICT (connection_id) WHERE connection_id IS NOT NULL
           DO UPDATE SET kind = excluded.kind, expires_at = excluded.expires_at`,
          [newIdentifier(), current.workspace_id, connectionId, next.kind, next.expiresAt, change.now],
        );
        return licenceState(next, change.now);
      }),
  };
}
