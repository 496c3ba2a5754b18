import { z } from 'zod';
import { dateTime, identifier } from '../service/fields.ts';
import { direction, messageStatus } from '../service/statuses.ts';
import { accountId, listOf, pageQuery } from './lists.ts';
import { FIRST_SEEN_BY } from './messages.ts';

/**
 * Why a delivery changed nothing:
 * - `already_known`: an earlier copy, a poll or the answer of a send had told it.
 * - `status_not_higher`: the status was higher already. A status never falls.
 * - `status_final`: the status was `failed`, or was `read` and `failed` cannot follow it.
 * - `other_account`: it came by the subscription of an account that the connection does not belong to.
 * - `unknown_event`: an event type that means nothing here; it is kept.
 * - `does_not_fit`: a known event type whose fields do not fit; it is kept.
 * - `not_storable`: the database refused what it tells; it is kept as it came.
 * - `unexplained`: nothing that is kept says why.
 */
export const TRACE_REASONS = [
  'already_known',
  'status_not_higher',
  'status_final',
  'other_account',
  'unknown_event',
  'does_not_fit',
  'not_storable',
  'unexplained',
] as const;
const traceReason = z.enum(TRACE_REASONS);
export type TraceReason = z.infer<typeof traceReason>;

/** How a delivery came in. */
const traceDelivery = z.object({
  subscriptionId: z.string(),
  accountId: accountId.describe('Whose subscription it came by.'),
  signedAt: dateTime.describe('The signed timestamp header.'),
  skewMs: z.int().describe('From the timestamp to the receipt, on our clock; negative: signed ahead of it.'),
  secretVersion: z.int().nullable().describe('Which secret of the subscription fits the signature.'),
  duplicate: z
    .int()
    .nullable()
    .describe('1 for the first delivery of this event and status, 2 for its first copy; null: not counted.'),
});

/** How a send of the CRM stood at that time. */
const traceSend = z.object({
  outboundId: identifier,
  reference: z.string().nullable(),
  attempts: z.int().min(0),
  errorCode: z.string().nullable().describe('Code of the last refusal or failure until then.'),
  idempotencyKey: z
    .string()
    .nullable()
    .describe('The key of the attempts; null when it is not known any more.'),
});

/** One thing that touched a message, in the order in which it happened. */
export const traceEntry = z.object({
  at: dateTime,
  source: z.enum(['webhook', 'poll', 'send', 'replay']),
  connectionId: identifier.nullable(),
  event: z.string().nullable().describe('Event type of a delivery; null for anything else.'),
  status: messageStatus.nullable().describe('The status that it told or brought.'),
  outcome: z
    .string()
    .describe(
      'Of a delivery `merged`, `unchanged`, `foreign`, `unknown_event`, `misfit` or `unmergeable`; of a send its state; else `merged`.',
    ),
  changed: z.array(z.enum(['created', 'status', 'fields'])).describe('What it changed; empty: nothing.'),
  reason: traceReason.nullable().describe('Why it changed nothing; null when it changed something.'),
  explanation: z.string().describe('The same in a sentence for people.'),
  seqs: z.array(z.int().min(1)).describe('The changes of the feed that it caused.'),
  walk: z
    .string()
    .nullable()
    .describe(
      'Of a poll: `coverage`, `visibility`, `end` (behind what was the last message), or `sweep:` and the age that was swept.',
    ),
  delivery: traceDelivery.nullable(),
  send: traceSend.nullable(),
});
export type TraceEntry = z.infer<typeof traceEntry>;

/** The message as it stands. */
const tracedMessage = z.object({
  connectionId: identifier,
  accountId,
  direction,
  status: messageStatus.nullable(),
  statusConflict: z.boolean().describe('Both `read` and `failed` were told; the first one stands.'),
  firstSeenBy: z.enum(FIRST_SEEN_BY),
  firstSeenAt: dateTime,
  createdAt: dateTime,
});
export type TracedMessage = z.infer<typeof tracedMessage>;

/** Answer of `GET /v1/messages/{id}/trace`. */
export const messageTrace = listOf('entries', traceEntry).extend({
  messageId: identifier,
  message: tracedMessage.nullable().describe('Null: deliveries name it, but none of them was merged.'),
  inbox: z
    .object({
      keptSince: dateTime.nullable().describe('Older deliveries were dropped; null: none ever was kept.'),
      complete: z.boolean().describe('The message is no older than the kept days.'),
      note: z.string().nullable().describe('What the kept days do not explain.'),
    })
    .describe('What the kept days of the raw inbox can tell.'),
});
export type MessageTrace = z.infer<typeof messageTrace>;

/** Query of `GET /v1/messages/{id}/trace`. */
export const messageTraceQuery = z.strictObject({ ...pageQuery });
