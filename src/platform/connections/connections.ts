import type { Provider } from '../../contract/service/statuses.ts';
import { attachSlot } from '../licensing/slots.ts';
import type { NetworkSessions } from '../network/network.ts';
import type { ChangeState } from '../time/state-change.ts';
import { lockWorkspace } from '../workspaces/workspaces.ts';
import { applyTransition } from './apply-transition.ts';
import { ensureDefault } from './default-connection.ts';
import { insertConnection } from './insert-connection.ts';
import { isTaken, noteKnownNumber, startWarmup } from './pairing/paired-numbers.ts';
import { type Connection, type ConnectionFilter, listAll, readConnection } from './read-connections.ts';

/**
 * A connection made outside the API, by embedded signup or a portal admin: already paired and live.
 * [service.cloud-api.no-pairing]
 */
export interface PairedConnection {
  readonly provider: Provider;
  /** International digits, no `+`. */
  readonly phoneNumber: string;
  /** Default: the number. */
  readonly label?: string;
  /** False leaves a connection of a portal workspace without its API add-on. */
  readonly addon?: boolean;
  /** True: the number is new to the network and begins its warm-up; for `qr`. Default: the number was used before. */
  readonly warmup?: boolean;
}

/** Thrown when another connection of the workspace has the number. */
export class NumberTaken extends Error {
  override readonly name = 'NumberTaken';
}

/** Creates connections outside of the API. */
export interface Connections {
  /**
   * The first connection of a workspace becomes its default. Throws `not_found` for an unknown workspace,
   * `NumberTaken` for a number that the workspace already has.
   */
  createPaired(workspaceId: string, input: PairedConnection): Promise<{ id: string }>;
  /** A connection, whosever it is. Throws `not_found`. */
  read(id: string): Promise<Connection>;
  /** The connections of everybody. */
  list(filter: ConnectionFilter): Promise<Connection[]>;
}

export function createConnections(changeState: ChangeState, sessions: NetworkSessions): Connections {
  return {
    list: (filter) => changeState(({ tx, now }) => listAll(tx, filter, now)),
    read: (id) => changeState(({ tx, now }) => readConnection(tx, id, now)),
    createPaired: (workspaceId, { provider, phoneNumber, label = phoneNumber, ...more }) =>
      changeState(async (change) => {
        await lockWorkspace(change.tx, workspaceId);
        if (await isTaken(change, { workspaceId }, phoneNumber)) throw new NumberTaken();
        const id = await insertConnection(change, { workspaceId, provider, label });
        await sessions.open(change, id);
        await applyTransition(change, id, 'paired', { phoneNumber });
        if (more.warmup === true) await startWarmup(change, { id, workspaceId }, phoneNumber);
        else await noteKnownNumber(change, workspaceId, phoneNumber);
        await attachSlot(change, { workspaceId, connectionId: id, addon: more.addon ?? true });
        await ensureDefault(change, workspaceId);
        return { id };
      }),
  };
}
