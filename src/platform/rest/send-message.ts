import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import { sendMessageRequest } from '../../contract/service/messages.ts';
import { createTurns } from '../../runtime/turns/turns.ts';
import { readJsonBody } from '../calls/read-body.ts';
import { readShape } from '../calls/read-shape.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { MediaStore } from '../media/media-store.ts';
import { checkStorableMedia } from '../messages/check-storable.ts';
import type { MessageSend, Sender } from '../messages/send-messages.ts';
import { textSend } from '../messages/text-send.ts';
import { defineEndpoint, type Endpoint, ok, type RawInput } from './endpoint.ts';

/** Large bodies that are in memory at once. Others wait unread. */
const LARGE_AT_ONCE = 2;

interface Dependencies {
  readonly sender: Sender;
  readonly mediaStore: MediaStore;
}

/** `POST /messages`. */
export function sendMessageEndpoint({ sender, mediaStore }: Dependencies): Endpoint {
  const uploads = createTurns(LARGE_AT_ONCE);
  const { send: limit, other } = ASSUMPTIONS.bodyBytes.value;

  /** The message; its file is stored. */
  const readMessage = async (request: RawInput['request']): Promise<MessageSend> => {
    const body = readShape(sendMessageRequest, await readJsonBody(request, limit));
    const { connectionId, to, text, media, idempotencyKey = null } = body;
    const message = { connectionId, to, idempotencyKey };
    if (media === undefined) return textSend({ ...message, text: text ?? '' });
    checkStorableMedia(media);
    // [media.caption]
    const caption = media.caption === undefined || media.caption === '' ? null : media.caption;
    return { ...message, text: caption, media: await mediaStore.save(media) };
  };

  return defineEndpoint({
    row: SERVICE_ENDPOINTS.sendMessage,
    readsOwnBody: true,
    read({ request }) {
      const isSmall = Number(request.headers['content-length']) <= other;
      return isSmall ? readMessage(request) : uploads.run(() => readMessage(request));
    },
    async handle(credential, message) {
      try {
        const { answer } = await sender.send(credential, message);
        return ok(answer);
      } finally {
        if (message.media !== null) await mediaStore.discard(message.media.id);
      }
    },
  });
}
