import { CONTACT_KEYS } from '../../contract/sandbox/contacts.ts';
import { MESSAGE_KEYS } from '../../contract/sandbox/messages.ts';
import { givenFields } from '../../contract/schema/given-fields.ts';
import { phoneDigits } from '../../contract/service/fields.ts';
import type { Platform } from '../../platform/platform.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import { pageAfter, pageOf, readCursor } from '../control/page-cursor.ts';
import { readFilter } from '../control/read-filter.ts';
import { SandboxError } from '../control/sandbox-error.ts';
import type { Handlers } from '../control/serve-endpoint.ts';

function readPhone(phone: string): string {
  const read = phoneDigits.safeParse(phone);
  if (read.success) return read.data;
  throw new SandboxError('invalid_request', "'phone': must be international digits without '+'.", 'phone');
}

/** People on the network, and the messages of the service. */
export function peopleEndpoints({ contacts, messages }: Platform) {
  return {
    async listContacts({ query: { q, limit, cursor } }) {
      const skip = cursor === undefined ? 0 : readCursor(cursor);
      const where = readFilter(CONTACT_KEYS, q);
      return pageAfter(skip, await contacts.list({ where, skip, limit: limit + 1 }), limit, (each) => each);
    },

    readContact: async ({ param }) => ({ ...(await contacts.get(readPhone(param('phone')))) }),

    putContact: ({ param, body }) => contacts.put(readPhone(param('phone')), givenFields(body)),

    async contactWrites({ param, body }) {
      const from = readPhone(param('phone'));
      const { connectionId, text = '', media, times } = body;
      if (media !== undefined) return await messages.receiveFile(connectionId, from, media);
      if (times === undefined) return await messages.receive(connectionId, { from, text });
      const written = Array.from({ length: times }, () => ({ from, text }));
      return { messageId: (await messages.receiveMany(connectionId, written)).at(-1) ?? '' };
    },

    async listContactMessages({ param, query: { limit, cursor } }) {
      const skip = cursor === undefined ? 0 : readCursor(cursor);
      const received = await contacts.received(readPhone(param('phone')), { skip, limit: limit + 1 });
      return pageAfter(skip, received, limit, (message) => ({ ...message, at: toIso(message.at) }));
    },

    async listStoredMessages({ query: { q, limit, cursor } }, within = '') {
      const before = cursor === undefined ? undefined : readCursor(cursor);
      const where = [...readFilter(MESSAGE_KEYS, q), ...readFilter(MESSAGE_KEYS, within)];
      return pageOf(
        await messages.list({ where, limit: limit + 1, ...givenFields({ before }) }),
        limit,
        ({ position: _, ...message }) => ({ ...message, createdAt: toIso(message.createdAt) }),
        ({ position }) => position,
      );
    },

    moveStatus: ({ param, body }) => messages.setStatus(param('id'), body.status),
  } satisfies Handlers;
}
