import { LIMITS } from '../../contract/service/limits.ts';
import { ASSUMPTIONS } from '../assumptions.ts';
import { lockWorkspace } from '../connections/workspaces.ts';
import { newIdentifier } from '../identifiers.ts';
import type { StateChange } from '../state-change.ts';
import type { Licence } from './licence-state.ts';

/** Who needs a licence: a connection whose number pairs now. */
interface Pairing {
  readonly workspaceId: string;
  readonly connectionId: string;
  /** False leaves a connection of a portal workspace without its add-on. */
  readonly addon: boolean;
}

async function insertLicence({ tx, now }: StateChange, pairing: Pairing, licence: Licence): Promise<void> {
  await tx.query(
    `INSERT INTO platform.licences (id, workspace_id, connection_id, kind, expires_at, created_at)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [newIdentifier(), pairing.workspaceId, pairing.connectionId, licence.kind, licence.expiresAt, now],
  );
}

/** Takes a slot that lies in the pool, with the time it has left. */
async function takePooled({ tx, now }: StateChange, pairing: Pairing): Promise<boolean> {
  const taken = await tx.query(
    `UPDATE platform.licences SET connection_id = $2 WHERE id = (
       SELECT id FROM platform.licences
       WHERE workspace_id = $1 AND connection_id IS NULL AND expires_at > $3
       ORDER BY expires_at DESC, id LIMIT 1)
     RETURNING id`,
    [pairing.workspaceId, pairing.connectionId, now],
  );
  return taken.length > 0;
}

/**
 * Gives a connection its licence at the moment its number pairs. In a standalone workspace that is a slot:
 * one from the pool with the rest of its time, else one never used, which starts a trial of seven days, else
 * none. In a portal workspace it is the add-on. Implements `What the service does`, 3 and 5.
 */
export async function attachSlot(change: StateChange, pairing: Pairing): Promise<void> {
  const { kind, slots } = await lockWorkspace(change.tx, pairing.workspaceId);
  if (kind === 'crm_portal') {
    const expiresAt = change.now + ASSUMPTIONS.paidLicenceMs.value;
    if (pairing.addon) await insertLicence(change, pairing, { kind: 'addon', expiresAt });
    return;
  }
  if (await takePooled(change, pairing)) return;
  const [used] = await change.tx.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM platform.licences WHERE workspace_id = $1',
    [pairing.workspaceId],
  );
  if ((used?.count ?? 0) >= slots) return;
  await insertLicence(change, pairing, { kind: 'trial', expiresAt: change.now + LIMITS.trialMs });
}
