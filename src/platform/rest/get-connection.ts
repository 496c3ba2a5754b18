import type { ConnectionDetailAnswer } from '../../contract/service/connections.ts';
import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { toDetail } from '../connections/connection-view.ts';
import { readPairing, showPicture } from '../connections/pairing/pairing-sessions.ts';
import { findReachable } from '../connections/read-connections.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import { readConnectionId } from './connection-path.ts';
import { defineEndpoint, type Endpoint, ok } from './endpoint.ts';

interface Dependencies {
  readonly database: Queryable;
  readonly clock: DomainClock;
}

/** `GET /connections/{id}`. */
export function getConnectionEndpoint({ database, clock }: Dependencies): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.getConnection,
    read: readConnectionId,
    async handle(credential, connectionId) {
      const now = clock.now();
      const connection = await findReachable(database, credential, connectionId, now);
      const pairs = connection.provider === 'qr' && connection.state !== 'live';
      const pairing = pairs ? await readPairing(database, connectionId) : null;
      const qr = pairing === null ? null : showPicture(connectionId, pairing, now);
      const answer: ConnectionDetailAnswer = { connection: toDetail(connection, qr) };
      return ok(answer);
    },
  });
}
