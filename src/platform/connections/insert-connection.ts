import type { Provider } from '../../contract/service/statuses.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { newIdentifier } from '../kernel/identifiers.ts';
import type { StateChange } from '../time/state-change.ts';
import { beginPairing } from './pairing/pairing-sessions.ts';
import { takeStep } from './transitions.ts';

/** A connection to be made. */
export interface NewConnection {
  readonly workspaceId: string;
  readonly provider: Provider;
  /** Empty: it will go by its number. */
  readonly label: string;
}

/**
 * Writes a connection that no number has paired with, begins its pairing if it is one that pairs, and answers
 * its id. The caller holds the workspace's lock.
 */
export async function insertConnection(
  change: StateChange,
  { workspaceId, provider, label }: NewConnection,
): Promise<string> {
  const id = newIdentifier();
  const { state, needsReconnect, reportedBroken } = takeStep(null, 'created', false).standing;
  await change.tx.query(
    `INSERT INTO platform.connections (id, workspace_id, provider, phone_number, label, tier, state,
       needs_reconnect, reported_broken, is_default, profile_pic_url, created_at, paired_at, warmup_until)
     VALUES ($1, $2, $3, NULL, $4, $5, $6, $7, $8, false, NULL, $9, NULL, NULL)`,
    [
      id,
      workspaceId,
      provider,
      label,
      ASSUMPTIONS.tierByProvider.value[provider],
      state,
      needsReconnect,
      reportedBroken,
      change.now,
    ],
  );
  // [service.cloud-api.no-pairing] [state.created.qr]
  if (provider === 'qr') await beginPairing(change, id);
  return id;
}
