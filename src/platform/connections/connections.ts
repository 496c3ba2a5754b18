import type { Provider } from '../../contract/service/statuses.ts';
import { attachSlot } from '../licensing/attach-slot.ts';
import { networkSessions } from '../network/sessions.ts';
import type { ChangeState } from '../state-change.ts';
import { applyTransition } from './apply-transition.ts';
import { ensureDefault } from './default-connection.ts';
import { insertConnection } from './insert-connection.ts';
import { noteKnownNumber } from './pairing/paired-numbers.ts';
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
        const id = await insertConnection(change, { workspaceId, provider, label });
        await networkSessions.open(change, id);
        await applyTransition(change, id, 'paired', { phoneNumber });
        await noteKnownNumber(change, workspaceId, phoneNumber);
        await attachSlot(change, { workspaceId, connectionId: id, addon });
        await ensureDefault(change, workspaceId);
        return { id };
      }),
  };
}
