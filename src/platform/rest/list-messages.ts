import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import { listMessagesQuery } from '../../contract/service/messages.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { readShape } from '../calls/read-shape.ts';
import type { MediaAddress } from '../media/media-address.ts';
import { listMessages } from '../messages/list-messages.ts';
import type { PageCursors } from '../messages/page-cursor.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import { defineEndpoint, type Endpoint, ok } from './endpoint.ts';

interface Dependencies {
  readonly database: Queryable;
  readonly clock: DomainClock;
  readonly cursors: PageCursors;
  readonly mediaAddress: MediaAddress;
}

/** `GET /messages`. */
export function listMessagesEndpoint({ clock, ...dependencies }: Dependencies): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.listMessages,
    read: ({ query }) => readShape(listMessagesQuery, query),
    async handle(credential, query) {
      return ok(await listMessages({ ...dependencies, now: clock.now() }, credential, query));
    },
  });
}
