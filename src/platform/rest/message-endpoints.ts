import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import { listMessagesQuery, readReceiptRequest } from '../../contract/service/messages.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { readShape } from '../calls/read-shape.ts';
import type { MediaAddress } from '../media/media-address.ts';
import { listMessages } from '../messages/list-messages.ts';
import { markRead, type ReadReceipt } from '../messages/mark-read.ts';
import type { PageCursors } from '../messages/page-cursor.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { ChangeState } from '../time/state-change.ts';
import { defineEndpoint, type Endpoint, ok, type RawInput } from './endpoint.ts';

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

interface ReceiptDependencies {
  readonly database: Queryable;
  readonly changeState: ChangeState;
  readonly clock: DomainClock;
}

function readReceipt({ body }: RawInput): ReadReceipt {
  const { connectionId, phone = null, messageId = null } = readShape(readReceiptRequest, body);
  return { connectionId, phone, messageId };
}

/** `POST /messages/read`. */
export function markReadEndpoint(dependencies: ReceiptDependencies): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.markRead,
    read: readReceipt,
    async handle(credential, receipt) {
      const now = dependencies.clock.now();
      return ok({ ok: true, marked: await markRead(dependencies, credential, receipt, now) });
    },
  });
}
