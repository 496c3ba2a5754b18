import type { Acknowledgement } from '../../contract/service/connections.ts';
import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import { deleteConnection } from '../connections/delete-connection.ts';
import type { ChangeState } from '../time/state-change.ts';
import { readConnectionId } from './connection-path.ts';
import { defineEndpoint, type Endpoint, ok } from './endpoint.ts';

/** `DELETE /connections/{id}`. */
export function deleteConnectionEndpoint(changeState: ChangeState): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.deleteConnection,
    read: readConnectionId,
    async handle(credential, connectionId) {
      await deleteConnection(changeState, credential, connectionId);
      const answer: Acknowledgement = { ok: true };
      return ok(answer);
    },
  });
}
