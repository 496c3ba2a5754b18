import type { RestartAnswer } from '../../contract/service/connections.ts';
import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import type { SessionDependencies } from '../connections/logout-connection.ts';
import { restartConnection } from '../connections/restart-connection.ts';
import { readConnectionId } from './connection-path.ts';
import { defineEndpoint, type Endpoint, ok } from './endpoint.ts';

/** `POST /connections/{id}/restart`. */
export function restartConnectionEndpoint(dependencies: SessionDependencies): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.restartConnection,
    read: readConnectionId,
    async handle(credential, connectionId) {
      const { recreated } = await restartConnection(dependencies, credential, connectionId);
      const answer: RestartAnswer = { ok: true, recreated };
      return ok(answer);
    },
  });
}
