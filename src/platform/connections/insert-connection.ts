import type { Provider } from '../../contract/service/statuses.ts';
import { orm } from '../../runtime/database/orm.ts';
import { connections } from '../db/core-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { newIdentifier } from '../kernel/identifiers.ts';
import type { StateChange } from '../time/state-change.ts';
import { beginPairing } from './pairing/pairing-sessions.ts';
import { takeStep } from './transitions.ts';

export interface NewConnection {
  readonly workspaceId: string;
  readonly provider: Provider;
  /** Empty: the number becomes the label when the connection pairs. */
  readonly label: string;
}

/**
 * Inserts an unpaired connection, starts its pairing session if it is a `qr` connection, and returns its id. The
 * caller holds the workspace's lock.
 */
export async function insertConnection(
  change: StateChange,
  { workspaceId, provider, label }: NewConnection,
): Promise<string> {
  const id = newIdentifier();
  const { standing } = takeStep(null, 'created', false);
  const tier = ASSUMPTIONS.tierByProvider.value[provider];
  await orm(change.tx)
    .insert(connections)
    .values({ id, workspaceId, provider, label, tier, ...standing, isDefault: false, createdAt: change.now });
  await change.recordTransition({
    ...{ connectionId: id, trigger: 'created', from: null, reason: null, event: null },
    ...{ to: standing.state, needsReconnect: standing.needsReconnect },
  });
  // [service.cloud-api.no-pairing] [state.created.qr]
  if (provider === 'qr') await beginPairing(change, id);
  return id;
}
