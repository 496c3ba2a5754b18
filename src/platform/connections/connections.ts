import type { Provider } from '../../contract/service/statuses.ts';
import { ASSUMPTIONS } from '../assumptions.ts';
import { newIdentifier } from '../identifiers.ts';
import { attachSlot } from '../licensing/attach-slot.ts';
import { networkSessions } from '../network/sessions.ts';
import type { ChangeState } from '../state-change.ts';
import { lockWorkspace } from './workspaces.ts';

/** A connection made outside the API, by embedded signup or a portal admin: already paired and live. */
export interface PairedConnection {
  readonly provider: Provider;
  /** International digits, no `+`. */
  readonly phoneNumber: string;
  /** Default: the number. */
  readonly label?: string;
  /** False leaves a connection of a portal workspace without its API add-on. */
  readonly addon?: boolean;
}

/** Connections, as people outside the API make them. */
export interface Connections {
  /** The first of a workspace becomes its default. Throws `not_found` for an unknown workspace. */
  createPaired(workspaceId: string, input: PairedConnection): Promise<{ id: string }>;
}

export function createConnections(changeState: ChangeState): Connections {
  return {
    createPaired: (workspaceId, { provider, phoneNumber, label = phoneNumber, addon = true }) =>
      changeState(async (change) => {
        await lockWorkspace(change.tx, workspaceId);
        const id = newIdentifier();
        await change.tx.query(
          `INSERT INTO platform.connections (id, workspace_id, provider, phone_number, label, tier, state,
             needs_reconnect, is_default, profile_pic_url, created_at, paired_at)
           VALUES ($1, $2, $3, $4, $5, $6, 'live', false,
             NOT EXISTS (SELECT 1 FROM platform.connections WHERE workspace_id = $2), NULL, $7, $7)`,
          [
            id,
            workspaceId,
            provider,
            phoneNumber,
            label,
            ASSUMPTIONS.tierByProvider.value[provider],
            change.now,
          ],
        );
        await networkSessions.open(change, id);
        await attachSlot(change, { workspaceId, connectionId: id, addon });
        return { id };
      }),
  };
}
