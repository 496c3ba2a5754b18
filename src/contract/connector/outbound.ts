import { z } from 'zod';
import { dateTime, identifier } from '../service/fields.ts';
import { accountId, listOf, ofAccount, ofConnection, pageQuery } from './lists.ts';

/** What is certain of a send. */
export const OUTBOUND_STATES = [
  'queued',
  'sending',
  'sent',
  'rejected',
  'unknown',
  'delivered_not_stored',
  'cancelled',
] as const;
export const outboundState = z
  .enum(OUTBOUND_STATES)
  .describe(
    'What is certain of it. `queued`: it waits for its first or next attempt. `sending`: an attempt is under way, or the outcome of a lost one is looked up. The others are final: `sent`: the service took it. `rejected`: it was refused, and nothing went out. `unknown`: it may have gone out; only an operator repeats it. `delivered_not_stored`: it went out, and the service kept no record. `cancelled`: by the CRM, while it was queued.',
  );
export type OutboundState = z.infer<typeof outboundState>;

/** A send of the CRM, on its way to the service. The bytes of a file are not shown again. */
export const outbound = z.object({
  id: identifier.describe('Given by the connector, as `outboundId`.'),
  accountId,
  connectionId: identifier.describe('The connection that sends it.'),
  to: z.string().describe('The recipient: international digits, no `+`.'),
  text: z.string().nullable().describe('The text; null when a file is sent.'),
  media: z
    .object({
      filename: z.string().describe('Name of the file.'),
      mimetype: z.string().describe('MIME type of the file.'),
      caption: z.string().nullable().describe('The text beside the file; null: none.'),
    })
    .nullable()
    .describe('The file, without its bytes; null when a text is sent.'),
  reference: z.string().describe('The id of this send in the CRM.'),
  state: outboundState,
  messageId: identifier
    .nullable()
    .describe('The message that it became, as in `GET /v1/messages/{id}`; null until that is known.'),
  attempts: z.int().min(0).describe('How many calls to the service have begun.'),
  lastError: z
    .string()
    .nullable()
    .describe(
      'Code of the last refusal or failure, such as `warmup_limited`. It stays when a later attempt succeeds; null: none failed.',
    ),
  nextAttemptAt: dateTime
    .nullable()
    .describe(
      'While it is `queued`: it is not tried before. Earlier sends of its connection come first. Else null.',
    ),
  createdAt: dateTime.describe('When it was queued.'),
  updatedAt: dateTime.describe('When its state last changed.'),
});
export type Outbound = z.infer<typeof outbound>;

/** Query of `GET /v1/outbound`. */
export const listOutboundQuery = z.strictObject({
  accountId: ofAccount,
  state: outboundState
    .optional()
    .describe(
      `Only sends in this state: ${OUTBOUND_STATES.map((state) => `\`${state}\``).join(', ')}. Absent: all.`,
    ),
  connectionId: ofConnection,
  ...pageQuery,
});
export type ListOutboundQuery = z.infer<typeof listOutboundQuery>;

export const outboundList = listOf('outbound', outbound);
export type OutboundList = z.infer<typeof outboundList>;
