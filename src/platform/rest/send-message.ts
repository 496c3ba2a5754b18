import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import { sendMessageRequest } from '../../contract/service/messages.ts';
import { ASSUMPTIONS } from '../assumptions.ts';
import type { Sender, TextSend } from '../messages/send-messages.ts';
import { PlatformError } from '../platform-error.ts';
import { defineEndpoint, type Endpoint, ok, type RawInput, readShape } from './endpoint.ts';

function readText({ body }: RawInput): TextSend {
  const { connectionId, to, text, idempotencyKey = null } = readShape(sendMessageRequest, body);
  if (text === undefined)
    throw new PlatformError('invalid_request', { field: 'media', hint: 'only text so far' });
  return { connectionId, to, text, idempotencyKey };
}

/** `POST /messages`. */
export function sendMessageEndpoint(sender: Sender): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.sendMessage,
    bodyLimit: ASSUMPTIONS.bodyBytes.value.send,
    read: readText,
    async handle({ credential, faults }, message) {
      const persist = !faults.some((fault) => fault.type === 'not_persisted');
      return ok(await sender.send(credential, message, { persist }));
    },
  });
}
