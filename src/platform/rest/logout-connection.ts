import type { Acknowledgement } from '../../contract/service/connections.ts';
import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import { logoutConnection, type SessionDependencies } from '../connections/logout-connection.ts';
import { readConnectionId } from './connection-path.ts';
import { defineEndpoint, type Endpoint, ok } from './endpoint.ts';

/** `POST /connections/{id}/logout`. */
export function logoutConnectionEndpoint(dependencies: SessionDependencies): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.logoutConnection,
    read: readConnectionId,
    async handle(credential, connectionId) {
      await logoutConnection(dependencies, credential, connectionId);
      const answer: Acknowledgement = { ok: true };
      return ok(answer);
    },
  });
}
