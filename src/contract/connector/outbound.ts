import { z } from 'zod';
import { dateTime, identifier } from '../service/fields.ts';
import { accountId, listOf, ofAccount, ofConnection, pageQuery } from './lists.ts';

/** What is known for certain about a send. */
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
    'What is known for certain. `queued`: waiting for its first or next attempt. `sending`: an attempt is running. The other states are final. `sent`: the service accepted it. `rejected`: the service rejected it, and nothing was sent. `unknown`: it may have been sent; only an operator can retry it. `delivered_not_stored`: it was delivered, but the service kept no record. `cancelled`: the CRM cancelled it while it was queued.',
  );
export type OutboundState = z.infer<typeof outboundState>;

/** A send of the CRM. The bytes of a file are not returned. */
export const outbound = z.object({
  id: identifier.describe(
    'Id of the send, assigned by the connector; returned as `outboundId` when it was queued.',
  ),
  accountId,
  connectionId: identifier.describe('The connection that sends it.'),
  to: z.string().describe('The recipient: international digits, no `+`.'),
  text: z.string().nullable().describe('The text; null if a file is sent.'),
  media: z
    .object({
      filename: z.string().describe('File name.'),
      mimetype: z.string().describe('MIME type of the file.'),
      caption: z.string().nullable().describe('The caption of the file; null if none.'),
    })
    .nullable()
    .describe('The file, without its bytes; null if a text is sent.'),
  reference: z.string().describe("The CRM's own id for this send."),
  state: outboundState,
  messageId: identifier
    .nullable()
    .describe('The resulting message, as in `GET /v1/messages/{id}`; null until it is known.'),
  attempts: z.int().min(0).describe('Number of attempts that have started.'),
  lastError: z
    .string()
    .nullable()
    .describe(
      'Error code of the last failed attempt, such as `warmup_limited`. It remains when a later attempt succeeds; null if no attempt failed.',
    ),
  nextAttemptAt: dateTime
    .nullable()
    .describe(
      'While the send is `queued`: the earliest time of its next attempt, after earlier sends of its connection. Otherwise null.',
    ),
  createdAt: dateTime.describe('When it was queued.'),
  updatedAt: dateTime.describe('When its state last changed.'),
});
export type Outbound = z.infer<typeof outbound>;

/** Query of `GET /v1/outbound`. */
export const listOutboundQuery = z
  .strictObject({
    accountId: ofAccount,
    state: outboundState
      .optional()
      .describe(
        `Only sends in this state: ${OUTBOUND_STATES.map((state) => `\`${state}\``).join(', ')}. If absent, sends in all states.`,
      ),
    connectionId: ofConnection,
    to: z
      .string()
      .regex(/^[^\0]{1,64}$/, 'must be the number of a recipient')
      .optional()
      .describe(
        'Only sends to this number, in any spelling, also with `+`, spaces and signs. Needs `connectionId`.',
      ),
    ...pageQuery,
  })
  // No index begins with the number: without a connection, all sends would be read.
  .refine(({ to, connectionId }) => to === undefined || connectionId !== undefined, {
    path: ['connectionId'],
    message: 'is needed with `to`',
  });
export type ListOutboundQuery = z.infer<typeof listOutboundQuery>;

export const outboundList = listOf('outbound', outbound);
export type OutboundList = z.infer<typeof outboundList>;
