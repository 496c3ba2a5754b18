import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import { type ListConnectionsContext, listConnections } from '../connections/list-connections.ts';
import { defineEndpoint, type Endpoint, ok, readNothing } from './endpoint.ts';

/** `GET /connections`. */
export function listConnectionsEndpoint(context: ListConnectionsContext): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.listConnections,
    read: readNothing,
    handle: async (credential) => ok(await listConnections(context, credential)),
  });
}
