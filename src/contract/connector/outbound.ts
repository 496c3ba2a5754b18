import { z } from 'zod';
import { dateTime, identifier } from '../service/fields.ts';
import { accountId, listOf, pageQuery } from './lists.ts';

/**
 * What is certain of a send: `sent`, `rejected` (nothing went out), `unknown` (it may have), and
 * `delivered_not_stored` (it did, and the service kept no record). None of these is left by itself.
 */
export const OUTBOUND_STATES = [
  'queued',
  'sending',
  'sent',
  'rejected',
  'unknown',
  'delivered_not_stored',
  'cancelled',
] as const;
export const outboundState = z.enum(OUTBOUND_STATES);
export type OutboundState = z.infer<typeof outboundState>;

/** A send of the CRM, on its way to the service. The bytes of a file are not shown again. */
export const outbound = z.object({
  id: identifier,
  accountId,
  connectionId: identifier,
  to: z.string(),
  text: z.string().nullable(),
  media: z.object({ filename: z.string(), mimetype: z.string(), caption: z.string().nullable() }).nullable(),
  reference: z.string().describe('The id of this send in the CRM.'),
  state: outboundState,
  messageId: identifier.nullable().describe('The message of the service, once it is known.'),
  attempts: z.int().min(0),
  lastError: z.string().nullable().describe('Code of the last refusal or failure.'),
  nextAttemptAt: dateTime.nullable(),
  createdAt: dateTime,
  updatedAt: dateTime,
});
export type Outbound = z.infer<typeof outbound>;

/** Query of `GET /v1/outbound`. */
export const listOutboundQuery = z.strictObject({
  accountId: accountId.optional(),
  state: outboundState.optional(),
  connectionId: z.string().min(1).max(255).optional(),
  ...pageQuery,
});
export type ListOutboundQuery = z.infer<typeof listOutboundQuery>;

export const outboundList = listOf('outbound', outbound);
export type OutboundList = z.infer<typeof outboundList>;
