import {
  type Acknowledgement,
  type ConnectionDetailAnswer,
  type PairingCodeAnswer,
  pairingCodeRequest,
  type RestartAnswer,
} from '../../contract/service/connections.ts';
import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { readShape } from '../calls/read-shape.ts';
import { toDetail } from '../connections/connection-view.ts';
import { deleteConnection } from '../connections/delete-connection.ts';
import { type ListConnectionsContext, listConnections } from '../connections/list-connections.ts';
import { logoutConnection, type SessionDependencies } from '../connections/logout-connection.ts';
import { readPairing, showPicture } from '../connections/pairing/pairing-sessions.ts';
import { requestCode } from '../connections/pairing/request-code.ts';
import { findReachable } from '../connections/read-connections.ts';
import { restartConnection } from '../connections/restart-connection.ts';
import { readAccount } from '../licensing/read-account.ts';
import { purgeMessages } from '../messages/purge-messages.ts';
import type { PhoneNetwork } from '../network/network.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { ChangeState } from '../time/state-change.ts';
import { defineEndpoint, type Endpoint, ok, type RawInput, readNothing } from './endpoint.ts';

/** `{id}` of a path. A value that cannot be an id is looked up like any other, and not found. */
export function readPathId({ params }: Pick<RawInput, 'params'>): string {
  const { id = '' } = params;
  return String(id);
}

interface Dependencies {
  readonly database: Queryable;
  readonly clock: DomainClock;
}

/** `GET /account`. */
export function getAccountEndpoint({ database, clock }: Dependencies): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.getAccount,
    read: readNothing,
    handle: async (credential) => ok(await readAccount(database, credential, clock.now())),
  });
}

/** `GET /connections`. */
export function listConnectionsEndpoint(context: ListConnectionsContext): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.listConnections,
    read: readNothing,
    handle: async (credential) => ok(await listConnections(context, credential)),
  });
}

/** `GET /connections/{id}`. */
export function getConnectionEndpoint({ database, clock }: Dependencies): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.getConnection,
    read: readPathId,
    async handle(credential, connectionId) {
      const now = clock.now();
      const connection = await findReachable(database, credential, connectionId, now);
      // [choice.qr.absent] [connections.restart.new-qr] [state.restart.poll] [events.disconnected.qr-by-get]
      const pairs = connection.provider === 'qr' && connection.state !== 'live';
      const pairing = pairs ? await readPairing(database, connectionId) : null;
      // [connections.get.qr-new]
      const qr = pairing === null ? null : showPicture(connectionId, pairing, now);
      const answer: ConnectionDetailAnswer = { connection: toDetail(connection, qr) };
      return ok(answer);
    },
  });
}

/** `DELETE /connections/{id}`. */
export function deleteConnectionEndpoint(changeState: ChangeState): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.deleteConnection,
    read: readPathId,
    async handle(credential, connectionId) {
      await deleteConnection(changeState, credential, connectionId, purgeMessages);
      const answer: Acknowledgement = { ok: true };
      return ok(answer);
    },
  });
}

/** `POST /connections/{id}/restart`. */
export function restartConnectionEndpoint(dependencies: SessionDependencies): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.restartConnection,
    read: readPathId,
    async handle(credential, connectionId) {
      const { recreated } = await restartConnection(dependencies, credential, connectionId);
      const answer: RestartAnswer = { ok: true, recreated };
      return ok(answer);
    },
  });
}

/** `POST /connections/{id}/logout`. */
export function logoutConnectionEndpoint(dependencies: SessionDependencies): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.logoutConnection,
    read: readPathId,
    async handle(credential, connectionId) {
      await logoutConnection(dependencies, credential, connectionId);
      const answer: Acknowledgement = { ok: true };
      return ok(answer);
    },
  });
}

interface PairingDependencies {
  readonly changeState: ChangeState;
  readonly network: PhoneNetwork;
}

/** `POST /connections/{id}/pairing-code`. */
export function requestPairingCodeEndpoint(dependencies: PairingDependencies): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.requestPairingCode,
    read: (input) => ({
      connectionId: readPathId(input),
      phoneNumber: readShape(pairingCodeRequest, input.body).phoneNumber,
    }),
    async handle(credential, input) {
      const answer: PairingCodeAnswer = { code: await requestCode(dependencies, credential, input) };
      return ok(answer);
    },
  });
}
