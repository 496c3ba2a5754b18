import { checkStorable } from './check-storable.ts';
import type { MessageSend } from './send-messages.ts';

/** The fields of a text send, already checked against the contract. */
interface TextFields {
  readonly connectionId: string;
  readonly to: string;
  readonly text: string;
  readonly idempotencyKey: string | null;
}

/** A text to send. Throws `invalid_request` if it cannot be stored. */
export function textSend(fields: TextFields): MessageSend {
  checkStorable('text', fields.text);
  return { ...fields, media: null };
}
