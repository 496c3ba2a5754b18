import type { ReceiverContext } from '../context.ts';
import { newId, type Payload } from '../events.ts';
import { accepted, onWire, type ReceiverCheck, type WireCheck } from '../receiver-check.ts';

const ANSWER =
  'Answer 2xx to every genuine delivery, in the default branch too, and do not throw: any other answer makes the service send it twice more and then drop it.';

const payload = (
  id: string,
  level: ReceiverCheck['level'],
  section: string,
  rule: string,
  bodyOf: (events: ReceiverContext['events']) => Payload,
  hint = ANSWER,
): WireCheck =>
  accepted(`payload.${id}`, rule, hint, ({ events }) => [{ body: bodyOf(events) }], { level, section });

export const payloadChecks = onWire('Limits', [
  payload(
    'message-received',
    'must',
    'message.received',
    'A received message is answered with a 2xx.',
    ({ received }) => received(),
    ANSWER,
  ),
  payload(
    'message-status',
    'must',
    'message.status',
    'A status of a message that is not known yet is answered with a 2xx.',
    ({ status }) => status(newId(), 'delivered'),
    `${ANSWER} Keep a status that arrives before its message.`,
  ),
  payload(
    'disconnected',
    'must',
    'connection.disconnected',
    'A broken connection is answered with a 2xx.',
    ({ connection }) => connection('connection.disconnected'),
  ),
  payload(
    'unknown-reason',
    'must',
    'connection.disconnected',
    'A broken connection is answered with a 2xx, whatever its reason is: new ones may appear.',
    ({ connection }) => connection('connection.disconnected', 'PHONE_REPLACED'),
    `${ANSWER} The reason is advisory: keep it as a text, and do not compare it with a list.`,
  ),
  payload(
    'connected',
    'should',
    'connection.connected',
    'A connection that works again is answered with a 2xx, whatever else the payload contains.',
    ({ connection }) => connection('connection.connected'),
  ),
  payload(
    'null-fields',
    'must',
    'message.received',
    'A message without a text is answered with a 2xx: text, media_url and media_type may be null.',
    ({ received }) => received({ text: null }),
    `${ANSWER} A file has no text: allow null.`,
  ),
  payload(
    'unknown-fields',
    'must',
    'Versioning',
    'Unknown fields are ignored.',
    ({ received }) => ({ ...received(), added_later: { nested: [1, null] } }),
    `${ANSWER} Do not validate with a schema that refuses additional fields.`,
  ),
  payload(
    'unknown-event',
    'must',
    'Versioning',
    'Unknown event types are ignored, with a 2xx.',
    ({ other }) => other('message.reaction', { reaction: { emoji: '+1' } }),
  ),
  payload(
    'unknown-status',
    'should',
    'Versioning',
    'An unknown status is ignored, with a 2xx.',
    ({ status }) => status(newId(), 'played'),
  ),
  accepted(
    'payload.long-text',
    'A text of 4096 characters is accepted.',
    'Accept bodies of at least 100 kB, better 1 MB: a character may take 6 bytes, as an escape. If the answer is 401, verify the bytes as they were received: see signature.raw-bytes.',
    ({ events }) => {
      const body = JSON.stringify(events.received({ text: '#'.repeat(4096) })).replaceAll('#', '\\u4f60');
      return [{ body, as: 'delivery with a text of 4096 escaped characters' }];
    },
  ),
]);
