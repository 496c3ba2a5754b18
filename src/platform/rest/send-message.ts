import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import { type MediaObject, sendMessageRequest } from '../../contract/service/messages.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { readShape } from '../calls/read-shape.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { MediaFile } from '../media/media-file.ts';
import type { MediaStore } from '../media/media-store.ts';
import { checkStorableMedia } from '../messages/check-storable.ts';
import type { MessageSend, Sender } from '../messages/send-messages.ts';
import { textSend } from '../messages/text-send.ts';
import { defineEndpoint, type Endpoint, ok, type RawInput } from './endpoint.ts';
import { readSendBody, type SendBody } from './read-send-body.ts';

/** Data that the schema accepts and data that it refuses, as placeholders for a file that is already stored. */
const RIGHT_DATA = 'AAAA';
const WRONG_DATA = '';

interface Input {
  readonly message: MessageSend;
  /** Files stored for this send, to be discarded unless a message uses them. */
  readonly begun: readonly string[];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The body for the schema: the mark of a file is replaced by data that are valid if and only if the file is. */
function standIn({ value, mark, file }: SendBody): unknown {
  if (!isRecord(value) || !isRecord(value['media']) || value['media']['data'] !== mark) return value;
  return { ...value, media: { ...value['media'], data: file === null ? WRONG_DATA : RIGHT_DATA } };
}

function readFields(body: SendBody) {
  try {
    return readShape(sendMessageRequest, standIn(body));
  } catch (error) {
    const { flaw } = body;
    if (flaw === null || !(error instanceof PlatformError) || error.field !== 'media.data') throw error;
    throw new PlatformError('invalid_request', { field: 'media.data', hint: flaw });
  }
}

function toFile({ filename, mimetype }: MediaObject, { file }: SendBody): MediaFile {
  // The schema accepts only the placeholder of a stored file.
  if (file === null) throw new PlatformError('internal_error');
  return { ...file, filename, mimetype };
}

/** The caption; null if it is absent or empty. [media.caption] */
function captionOf({ caption }: MediaObject): string | null {
  return caption === undefined || caption === '' ? null : caption;
}

function readMessage(body: SendBody): MessageSend {
  const { connectionId, to, text, media, idempotencyKey = null } = readFields(body);
  const message = { connectionId, to, idempotencyKey };
  if (media === undefined) return textSend({ ...message, text: text ?? '' });
  checkStorableMedia(media);
  return { ...message, text: captionOf(media), media: toFile(media, body) };
}

interface Dependencies {
  readonly sender: Sender;
  readonly mediaStore: MediaStore;
  readonly systemClock: Clock;
}

/** `POST /messages`. */
export function sendMessageEndpoint({ sender, mediaStore: store, systemClock }: Dependencies): Endpoint {
  const read = async ({ request, credential: { workspaceId } }: RawInput): Promise<Input> => {
    const begun: string[] = [];
    try {
      const body = await readSendBody(request, { store, begun, workspaceId, clock: systemClock });
      return { message: readMessage(body), begun };
    } catch (error) {
      await store.discard(begun);
      throw error;
    }
  };

  return defineEndpoint({
    row: SERVICE_ENDPOINTS.sendMessage,
    readsOwnBody: true,
    read,
    async handle(credential, { message, begun }) {
      try {
        const { answer } = await sender.send(credential, message);
        return ok(answer);
      } finally {
        await store.discard(begun);
      }
    },
  });
}
