import { z } from 'zod';
import { dateTime, identifier } from '../service/fields.ts';
import { direction, messageStatus } from '../service/statuses.ts';
import { accountId } from './lists.ts';
import { firstSeenBy } from './messages.ts';

/** Why a delivery changed nothing. */
export const TRACE_REASONS = [
  'already_known',
  'status_not_higher',
  'status_final',
  'status_of_incoming',
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
  subscriptionId: z.string().describe('The webhook subscription that received the delivery.'),
  accountId: accountId.describe('The owner of that subscription.'),
  signedAt: dateTime.describe('The signed timestamp header.'),
  skewMs: z
    .int()
    .describe(
      "Time between the timestamp and the receipt, by the connector's clock; negative if the timestamp is in the future.",
    ),
  secretVersion: z.int().nullable().describe('Which secret of the subscription matches the signature.'),
  duplicate: z
    .int()
    .nullable()
    .describe(
      '1 for the first delivery of this event and status, 2 for its first copy; null if not counted, or if the trace is truncated.',
    ),
});

/** The state of a send at that time. */
const traceSend = z.object({
  outboundId: identifier.describe('Id of the send.'),
  reference: z
    .string()
    .nullable()
    .describe("The CRM's own id for the send; null if the send has been deleted."),
  attempts: z.int().min(0).describe('Number of attempts that had started.'),
  errorCode: z.string().nullable().describe('Error code of the last failed attempt until then.'),
  idempotencyKey: z
    .string()
    .nullable()
    .describe('The idempotency key of the attempts; null if no longer known.'),
});

/** One thing that touched a message; entries are in the order in which they happened. */
export const traceEntry = z.object({
  at: dateTime.describe(
    "When the delivery was received or the change was written, by the connector's clock.",
  ),
  source: z
    .enum(['webhook', 'poll', 'send', 'api', 'media', 'replay'])
    .describe(
      '`webhook`: a delivery. `poll`: a list of the service. `send`: a step or the response of a send. `api`: a client of this API named the other party or asked for the file. `media`: the worker that keeps files. `replay`: an operator merged the stored deliveries again.',
    ),
  connectionId: identifier.nullable().describe('The connection that it named; null if none.'),
  event: z.string().nullable().describe('Event type of a delivery; null for anything else.'),
  status: messageStatus
    .nullable()
    .describe('The status that it reported: `sent`, `delivered`, `read` or `failed`; null if none.'),
  outcome: z
    .string()
    .describe(
      'For a delivery: `merged`, `unchanged`, `foreign`, `unknown_event`, `invalid` or `unmergeable`. For a send: its state. Otherwise `merged`.',
    ),
  changed: z
    .array(z.enum(['created', 'status', 'fields']))
    .describe(
      'What it changed; empty if nothing. `created`: it created the message. `status`: it advanced the status. `fields`: it filled in missing fields.',
    ),
  reason: traceReason
    .nullable()
    .describe(
      'Why a delivery changed nothing; null if it changed something. `already_known`: an earlier copy, a poll or the response of a send had reported it. `status_not_higher`: the status was already higher; it never moves backwards. `status_final`: the status was `failed`, or was `read` and cannot become `failed`. `status_of_incoming`: the message is incoming and has no status. `other_account`: it arrived on the subscription of another account. `unknown_event`: its event type is unknown; it was stored. `does_not_fit`: its fields do not match its type; it was stored. `not_storable`: the database rejected it; it was stored as received. `unexplained`: the stored data does not explain it.',
    ),
  explanation: z.string().describe('The same reason in one sentence for people.'),
  seqs: z.array(z.int().min(1)).describe('The changes that it caused in the feed.'),
  walk: z
    .string()
    .nullable()
    .describe('For a poll: `coverage`, `visibility`, or `sweep:` followed by the age that was checked.'),
  delivery: traceDelivery.nullable().describe('How a delivery arrived; null for anything else.'),
  send: traceSend
    .nullable()
    .describe('The state of the send at that time; null for anything but a step of a send.'),
});
export type TraceEntry = z.infer<typeof traceEntry>;

/** The current state of the message. */
const tracedMessage = z.object({
  connectionId: identifier.describe('The connection that received or sent it.'),
  accountId,
  direction: direction.describe('`incoming` or `outgoing`.'),
  status: messageStatus
    .nullable()
    .describe('`sent`, `delivered`, `read` or `failed`; null for an incoming message.'),
  statusConflict: z.boolean().describe('Both `read` and `failed` were reported; the first one counts.'),
  firstSeenBy,
  firstSeenAt: dateTime.describe("When it first became known to the connector, by the connector's clock."),
  createdAt: dateTime.describe('When the message was created, according to the service.'),
});
export type TracedMessage = z.infer<typeof tracedMessage>;

/** The most entries of a trace. */
export const TRACE_ENTRIES = 200;

/** Response of `GET /v1/messages/{id}/trace`. */
export const messageTrace = z.object({
  entries: z
    .array(traceEntry)
    .describe(`What touched the message, oldest first: the newest ${TRACE_ENTRIES} entries.`),
  truncated: z.boolean().describe('Whether there are older entries, which are not listed.'),
  messageId: identifier.describe('The requested message.'),
  message: tracedMessage
    .nullable()
    .describe('Null if deliveries name the message but none of them was merged.'),
  inbox: z
    .object({
      keptSince: dateTime
        .nullable()
        .describe('Older deliveries have been deleted; null if none were ever stored.'),
      complete: z.boolean().describe('True if the message is not older than the stored deliveries.'),
      note: z.string().nullable().describe('What the stored deliveries do not explain.'),
    })
    .describe('What the stored deliveries cover.'),
});
export type MessageTrace = z.infer<typeof messageTrace>;
