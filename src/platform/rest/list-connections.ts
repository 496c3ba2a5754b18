import type { ConnectionListAnswer } from '../../contract/service/connections.ts';
import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { toListItem } from '../connections/connection-view.ts';
import { readVisible } from '../connections/read-connections.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import { defineEndpoint, type Endpoint, ok, readNothing } from './endpoint.ts';

interface Dependencies {
  readonly database: Queryable;
  readonly clock: DomainClock;
  /** Address of the picture of numbers that have none. */
  readonly neutralPicture: () => string;
}

/** `GET /connections`. */
export function listConnectionsEndpoint({ database, clock, neutralPicture }: Dependencies): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.listConnections,
    read: readNothing,
    async handle({ credential }) {
      const visible = await readVisible(database, credential, clock.now());
      const picture = neutralPicture();
      const answer: ConnectionListAnswer = {
        connections: visible.map((connection) => toListItem(connection, picture)),
      };
      return ok(answer);
    },
  });
}
