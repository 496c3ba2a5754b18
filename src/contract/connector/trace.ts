import { z } from 'zod';
import { dateTime, identifier } from '../service/fields.ts';
import { direction, messageStatus } from '../service/statuses.ts';
import { accountId, listOf, pageQuery } from './lists.ts';
import { firstSeenBy } from './messages.ts';

/** Why a delivery changed nothing. */
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
  subscriptionId: z.string().describe('The webhook subscription that it came by.'),
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
  outboundId: identifier.describe('Id of the send.'),
  reference: z.string().nullable().describe("The CRM's own id of the send; null when the send is forgotten."),
  attempts: z.int().min(0).describe('How many calls to the service had begun.'),
  errorCode: z.string().nullable().describe('Code of the last refusal or failure until then.'),
  idempotencyKey: z
    .string()
    .nullable()
    .describe('The key of the attempts; null when it is not known any more.'),
});

/** One thing that touched a message, in the order in which it happened. */
export const traceEntry = z.object({
  at: dateTime.describe(
    'When the delivery was received, or the change was written, by the clock of the connector.',
  ),
  source: z
    .enum(['webhook', 'poll', 'send', 'replay'])
    .describe(
      '`webhook`: a delivery. `poll`: a list of the service. `send`: a step of a send, or its answer. `replay`: the kept deliveries, merged once more by an operator.',
    ),
  connectionId: identifier.nullable().describe('The connection that it named; null: none.'),
  event: z.string().nullable().describe('Event type of a delivery; null for anything else.'),
  status: messageStatus
    .nullable()
    .describe('The status that it told or brought: `sent`, `delivered`, `read` or `failed`; null: none.'),
  outcome: z
    .string()
    .describe(
      'Of a delivery `merged`, `unchanged`, `foreign`, `unknown_event`, `misfit` or `unmergeable`; of a send its state; else `merged`.',
    ),
  changed: z
    .array(z.enum(['created', 'status', 'fields']))
    .describe(
      'What it changed; empty: nothing. `created`: it made the message known. `status`: it raised the status. `fields`: it filled in what was missing.',
    ),
  reason: traceReason
    .nullable()
    .describe(
      'Why a delivery changed nothing; null when it changed something. `already_known`: an earlier copy, a poll or the answer of a send had told it. `status_not_higher`: the status was higher already; it never falls. `status_final`: it was `failed`, or was `read` and cannot become `failed`. `other_account`: it came by the subscription of another account. `unknown_event`: its type means nothing here; it is kept. `does_not_fit`: its fields do not fit its type; it is kept. `not_storable`: the database refused it; it is kept as it came. `unexplained`: nothing that is kept says why.',
    ),
  explanation: z.string().describe('The same in a sentence for people.'),
  seqs: z.array(z.int().min(1)).describe('The changes of the feed that it caused.'),
  walk: z
    .string()
    .nullable()
    .describe(
      'Of a poll: `coverage`, `visibility`, `end` (behind what was the last message), or `sweep:` and the age that was swept.',
    ),
  delivery: traceDelivery.nullable().describe('How a delivery came in; null for anything else.'),
  send: traceSend.nullable().describe('How the send stood then; null for anything but a step of one.'),
});
export type TraceEntry = z.infer<typeof traceEntry>;

/** The message as it stands. */
const tracedMessage = z.object({
  connectionId: identifier.describe('The connection that it came or went by.'),
  accountId,
  direction: direction.describe('`incoming` or `outgoing`.'),
  status: messageStatus
    .nullable()
    .describe('`sent`, `delivered`, `read` or `failed`; null for an incoming message.'),
  statusConflict: z.boolean().describe('Both `read` and `failed` were told; the first one stands.'),
  firstSeenBy,
  firstSeenAt: dateTime.describe('When it became known here, by the clock of the connector.'),
  createdAt: dateTime.describe("The service's time of it."),
});
export type TracedMessage = z.infer<typeof tracedMessage>;

/** Answer of `GET /v1/messages/{id}/trace`. */
export const messageTrace = listOf('entries', traceEntry).extend({
  messageId: identifier.describe('The message that was asked for.'),
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
