import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { readAccount } from '../licensing/read-account.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import { defineEndpoint, type Endpoint, ok, readNothing } from './endpoint.ts';

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
