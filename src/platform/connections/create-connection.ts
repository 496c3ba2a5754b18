import type { Credential } from '../credentials/credential.ts';
import type { ChangeState, StateChange } from '../time/state-change.ts';
import { lockWorkspace } from '../workspaces/workspaces.ts';
import { type CreateKey, keepCreateKey, takeCreateKey } from './create-keys.ts';
import { insertConnection } from './insert-connection.ts';
import { type PairingSession, readPairing } from './pairing/pairing-sessions.ts';
import { type Connection, findReachable, readConnection } from './read-connections.ts';

/** What a create asks for. */
export interface CreateRequest {
  /** Empty: the connection will go by its number. */
  readonly label: string;
  /** Null: each request makes a connection. */
  readonly key: CreateKey | null;
}

/** The connection of a create, as it stands now. */
export interface Created {
  readonly connection: Connection;
  readonly pairing: PairingSession;
  /** An earlier request with the same key made it. */
  readonly replayed: boolean;
}

/**
 * Puts a connection that a credential has just created within its reach, if the credential has a list of connections:
 * otherwise its maker could never show the picture to scan.
 */
export type ExtendReach = (
  change: StateChange,
  credential: Credential,
  connectionId: string,
) => Promise<void>;

/** Makes the connection and remembers the key, in one change: a crash leaves both or neither. */
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
 * Creates a `qr` connection that waits for its owner to pair; slot and trial are claimed then. With a key the
 * connection of its first request is answered for 24 hours. Throws what `takeCreateKey` throws, and
 * `not_found` where that connection was deleted since or is out of the credential's reach.
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
