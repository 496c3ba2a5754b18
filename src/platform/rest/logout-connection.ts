import type { Acknowledgement } from '../../contract/service/connections.ts';
import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import { logoutConnection } from '../connections/logout-connection.ts';
import type { ChangeState } from '../time/state-change.ts';
import { readConnectionId } from './connection-path.ts';
import { defineEndpoint, type Endpoint, ok } from './endpoint.ts';

/** `POST /connections/{id}/logout`. */
export function logoutConnectionEndpoint(changeState: ChangeState): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.logoutConnection,
    read: readConnectionId,
    async handle(credential, connectionId) {
      await logoutConnection(changeState, credential, connectionId);
      const answer: Acknowledgement = { ok: true };
      return ok(answer);
    },
  });
}
