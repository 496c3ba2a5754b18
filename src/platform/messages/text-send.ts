import { checkStorable } from './check-storable.ts';
import type { MessageSend } from './send-messages.ts';

/** What a text is sent with, in the shape of the contract already. */
interface TextFields {
  readonly connectionId: string;
  readonly to: string;
  readonly text: string;
  readonly idempotencyKey: string | null;
}

/** A text to send. Throws `invalid_request` for one that cannot be stored as it is. */
export function textSend(fields: TextFields): MessageSend {
  checkStorable('text', fields.text);
  return { ...fields, media: null };
}
