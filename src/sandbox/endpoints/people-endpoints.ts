import { phoneDigits } from '../../contract/service/fields.ts';
import type { PhoneMessage } from '../../platform/network/contacts.ts';
import type { Platform } from '../../platform/platform.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import { pageOf, readCursor } from '../control/page-cursor.ts';
import { SandboxError } from '../control/sandbox-error.ts';
import type { Handlers } from '../control/serve-endpoint.ts';
import { givenFields } from './given-fields.ts';

function readPhone(phone: string): string {
  const read = phoneDigits.safeParse(phone);
  if (read.success) return read.data;
  throw new SandboxError('invalid_request', "'phone': must be international digits without '+'.", 'phone');
}

/** People on the network, and messages moved by hand. */
export function peopleEndpoints({ contacts, messages }: Platform) {
  return {
    putContact: ({ param, body }) => contacts.put(readPhone(param('phone')), givenFields(body)),

    contactWrites({ param, body }) {
      const from = readPhone(param('phone'));
      const { connectionId, text, media } = body;
      if (media !== undefined) return messages.receiveFile(connectionId, from, media);
      return messages.receive(connectionId, { from, text: text ?? '' });
    },

    async listContactMessages({ param, query: { limit, cursor } }) {
      const skip = cursor === undefined ? 0 : readCursor(cursor);
      const received = await contacts.received(readPhone(param('phone')), { skip, limit: limit + 1 });
      const numbered = received.map((message, index) => ({ message, position: skip + index + 1 }));
      return pageOf(
        numbered,
        limit,
        ({ message }: { message: PhoneMessage }) => ({ ...message, at: toIso(message.at) }),
        ({ position }) => position,
      );
    },

    moveStatus: ({ param, body }) => messages.setStatus(param('id'), body.status),
  } satisfies Handlers;
}
