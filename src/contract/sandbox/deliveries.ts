import { z } from 'zod';
import { optionalQueryInteger, queryInteger } from '../query.ts';
import { eventType } from '../service/events.ts';
import { dateTime } from '../service/fields.ts';
import { messageStatus } from '../service/statuses.ts';
import { entriesOf, SANDBOX_PAGE, sandboxPageQuery } from './lists.ts';

const id = z.string().min(1).max(255);

/** What became of a delivery. */
export const DELIVERY_OUTCOMES = ['pending', 'delivered', 'dropped'] as const;
export const deliveryOutcome = z.enum(DELIVERY_OUTCOMES);
export type DeliveryOutcome = z.infer<typeof deliveryOutcome>;

/** One request of a delivery. `status` or `error`, unless it is still open. */
export const deliveryAttempt = z.object({
  at: dateTime.describe('Wall clock.'),
  ms: z.number().min(0).describe('How long it took.'),
  status: z.int().optional(),
  error: z.string().optional(),
  faults: z.array(z.string()).optional().describe('Ids of the rules that touched it.'),
});
export type DeliveryAttempt = z.infer<typeof deliveryAttempt>;

/** An event on its way to a receiver. */
export const delivery = z.object({
  id,
  event: eventType,
  connectionId: id,
  messageId: id.nullable(),
  subscription: z
    .object({ kind: z.enum(['workspace', 'app']), id })
    .describe('Whose webhook it is for: of a workspace, or of an OAuth app by its client id.'),
  url: z.string().nullable().describe('Null when no webhook was set.'),
  outcome: deliveryOutcome,
  reason: z
    .enum(['no_webhook', 'backlog_full', 'interrupted'])
    .optional()
    .describe('Why an event was dropped without its attempts.'),
  held: z.literal(true).optional().describe('The next attempt waits for a release; absent: nothing does.'),
  createdAt: dateTime.describe('Wall clock.'),
  headers: z.record(z.string(), z.string()),
  body: z.string().describe('The raw body.'),
  attempts: z.array(deliveryAttempt),
});
export type Delivery = z.infer<typeof delivery>;

/** Newest first. */
export const deliveryList = entriesOf(delivery);
export type DeliveryList = z.infer<typeof deliveryList>;

/** Query of `GET /deliveries`. */
export const listDeliveriesQuery = z.strictObject({
  event: eventType.optional(),
  connectionId: id.optional(),
  outcome: deliveryOutcome.optional(),
  ...sandboxPageQuery,
});
export type ListDeliveriesQuery = z.infer<typeof listDeliveriesQuery>;

/** Body of `POST /deliveries/{id}/resend`. The same bytes and signature unless told otherwise. */
export const resendRequest = z.strictObject({
  resign: z.boolean().optional().describe('Signs afresh: the old signature is stale after 5 minutes.'),
  times: z.int().min(1).max(1000).optional(),
  tamper: z.enum(['body', 'signature', 'timestamp']).optional(),
});
export type ResendRequest = z.infer<typeof resendRequest>;

/** An event that the service meant to deliver, whether or not it arrived. */
export const ledgerEntry = z.object({
  seq: z.int().min(1),
  at: dateTime.describe('Virtual time.'),
  event: eventType,
  connectionId: id,
  messageId: id.nullable(),
  status: messageStatus.optional().describe('The status that a `message.status` tells.'),
  payload: z.record(z.string(), z.unknown()).describe('The parsed body.'),
});
export type LedgerEntry = z.infer<typeof ledgerEntry>;

/** In the order of `seq`, without gaps. */
export const ledger = entriesOf(ledgerEntry);
export type Ledger = z.infer<typeof ledger>;

/** Query of `GET /ledger`; `after` is the last `seq` that was read. */
export const readLedgerQuery = z.strictObject({
  after: optionalQueryInteger({ min: 0 }),
  limit: queryInteger(SANDBOX_PAGE),
});
export type ReadLedgerQuery = z.infer<typeof readLedgerQuery>;

/** Body of `PUT /hosts/{host}`: where deliveries to `https://{host}/…` really go. */
export const putHostRequest = z.strictObject({
  target: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .describe('For example `http://127.0.0.1:4020`.'),
});
export type PutHostRequest = z.infer<typeof putHostRequest>;

export const tunnelHost = z.object({ host: z.string(), target: z.string() });
export type TunnelHost = z.infer<typeof tunnelHost>;
