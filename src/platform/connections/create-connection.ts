import type { Credential } from '../credentials/credential.ts';
import type { ChangeState, StateChange } from '../time/state-change.ts';
import { lockWorkspace } from '../workspaces/workspaces.ts';
import { type CreateKey, keepCreateKey, takeCreateKey } from './create-keys.ts';
import { insertConnection } from './insert-connection.ts';
import { type PairingSession, readPairing } from './pairing/pairing-sessions.ts';
import { type Connection, findReachable, readConnection } from './read-connections.ts';

export interface CreateRequest {
  /** Empty: the number becomes the label when the connection pairs. */
  readonly label: string;
  /** Null: each request creates a connection. */
  readonly key: CreateKey | null;
}

/** The result of a create: the connection in its present state. */
export interface Created {
  readonly connection: Connection;
  readonly pairing: PairingSession;
  /** True if an earlier request with the same key created it. */
  readonly replayed: boolean;
}

/**
 * Adds a new connection to its creator's credential, if the credential has a list of connections. Otherwise the
 * creator could never read the QR code.
 */
export type ExtendReach = (
  change: StateChange,
  credential: Credential,
  connectionId: string,
) => Promise<void>;

/** Creates the connection and stores the key in one transaction: a crash leaves both or neither. */
async function provision(
  change: StateChange,
  credential: Credential,
  { label, key }: CreateRequest,
  extendReach: ExtendReach,
): Promise<string> {
  const { workspaceId } = credential;
  await lockWorkspace(change.tx, workspaceId);
  // [connections.create.qr-kind]
  const id = await insertConnection(change, { workspaceId, provider: 'qr', label });
  if (key !== null) await keepCreateKey(change, workspaceId, key, id);
  await extendReach(change, credential, id);
  return id;
}

/**
 * Creates a `qr` connection that waits for its owner to pair, which claims slot and trial. A repeated key returns the
 * connection of its first request for 24 hours. Throws what `takeCreateKey` throws, and `not_found` if that
 * connection has been deleted or is outside of the credential's list.
 * [state.created.claims-nothing]
 */
export function createConnection(
  changeState: ChangeState,
  credential: Credential,
  request: CreateRequest,
  extendReach: ExtendReach,
): Promise<Created> {
  return changeState(async (change) => {
    const { key } = request;
    const known = key === null ? null : await takeCreateKey(change, credential.workspaceId, key);
    // [connections.create.idempotency.new] [connections.create.idempotency.replay]
    // [connections.create.idempotency.replay-nothing]
    const id = known ?? (await provision(change, credential, request, extendReach));
    const { tx, now } = change;
    const connection =
      known === null ? await readConnection(tx, id, now) : await findReachable(tx, credential, id, now);
    return { connection, pairing: await readPairing(tx, id), replayed: known !== null };
  });
}
