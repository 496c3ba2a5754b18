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
  status: z.int().optional().describe("Status of the receiver's answer."),
  error: z.string().optional().describe('Why there was no answer, or why it does not count; and what to do.'),
  faults: z.array(z.string()).optional().describe('Ids of the rules that touched it.'),
});
export type DeliveryAttempt = z.infer<typeof deliveryAttempt>;

/** An event on its way to a receiver. */
export const delivery = z.object({
  id: id.describe('Id of the delivery.'),
  event: eventType.describe('Type of the event.'),
  workspaceId: id.describe('The workspace of its connection.'),
  connectionId: id.describe('The connection that it is about.'),
  messageId: id.nullable().describe('The message that it is about; null for events of connections.'),
  subscription: z
    .object({
      kind: z
        .enum(['workspace', 'app'])
        .describe('Whether the webhook is set by an API key or for an OAuth app.'),
      id: id.describe('Id of the workspace, or client id of the app.'),
    })
    .describe('Whose webhook it is for: of a workspace, or of an OAuth app by its client id.'),
  url: z.string().nullable().describe('Null when no webhook was set.'),
  outcome: deliveryOutcome.describe('`pending` while attempts are to come.'),
  reason: z
    .enum(['no_webhook', 'backlog_full', 'interrupted'])
    .optional()
    .describe('Why an event was dropped without its attempts.'),
  held: z.literal(true).optional().describe('The next attempt waits for a release; absent: nothing does.'),
  createdAt: dateTime.describe('Wall clock.'),
  headers: z
    .record(z.string(), z.string())
    .describe('As sent with each untouched attempt; empty before the first one.'),
  body: z.string().describe('The raw body.'),
  attempts: z.array(deliveryAttempt).describe('Every request that was made, oldest first.'),
});
export type Delivery = z.infer<typeof delivery>;

/** Newest first. */
export const deliveryList = entriesOf(delivery);
export type DeliveryList = z.infer<typeof deliveryList>;

/** Query of `GET /deliveries`. */
export const listDeliveriesQuery = z.strictObject({
  event: eventType.optional().describe('Only events of this type.'),
  workspaceId: id.optional().describe('Only those of this workspace.'),
  connectionId: id.optional().describe('Only those of this connection.'),
  outcome: deliveryOutcome.optional().describe('Only those with this outcome.'),
  ...sandboxPageQuery,
});
export type ListDeliveriesQuery = z.infer<typeof listDeliveriesQuery>;

/** Body of `POST /deliveries/{id}/resend`. The same bytes and signature unless told otherwise. */
export const resendRequest = z.strictObject({
  resign: z.boolean().optional().describe('Signs afresh: the old signature is stale after 5 minutes.'),
  times: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe('How often to send it, one after the other; once unless told.'),
  tamper: z
    .enum(['body', 'signature', 'timestamp'])
    .optional()
    .describe('What to alter after signing, so that the receiver must refuse it.'),
});
export type ResendRequest = z.infer<typeof resendRequest>;

/** An event that the service meant to deliver, whether or not it arrived. */
export const ledgerEntry = z.object({
  seq: z.int().min(1).describe('Its number, without gaps.'),
  at: dateTime.describe('Virtual time.'),
  event: eventType.describe('Type of the event.'),
  connectionId: id.describe('The connection that it is about.'),
  messageId: id.nullable().describe('The message that it is about; null for events of connections.'),
  status: messageStatus.optional().describe('The status that a `message.status` tells.'),
  payload: z.record(z.string(), z.unknown()).describe('The parsed body.'),
});
export type LedgerEntry = z.infer<typeof ledgerEntry>;

/** In the order of `seq`, oldest first unless `order` says otherwise. */
export const ledger = entriesOf(ledgerEntry);
export type Ledger = z.infer<typeof ledger>;

/** Query of `GET /ledger`. `nextCursor` is the `after` of the next page, or its `before` when the newest come first. */
export const readLedgerQuery = z.strictObject({
  after: optionalQueryInteger({ min: 0 }).describe(
    'Only entries with a larger `seq`: the last one that was read.',
  ),
  before: optionalQueryInteger({ min: 0 }).describe('Only entries with a smaller `seq`.'),
  order: z
    .enum(['oldest', 'newest'])
    .default('oldest')
    .describe('Which end the page begins with: `oldest`, unless told, or `newest`.'),
  limit: queryInteger(SANDBOX_PAGE).describe('How many entries to list.'),
});
export type ReadLedgerQuery = z.infer<typeof readLedgerQuery>;

/** Body of `PUT /hosts/{host}`: where deliveries to `https://{host}/…` really go. */
export const putHostRequest = z.strictObject({
  target: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .describe(
      'Where the requests really go, for example `http://127.0.0.1:4020`. Only this machine, unless the service was started with `PLATFORM_TUNNEL_TARGETS`.',
    ),
});
export type PutHostRequest = z.infer<typeof putHostRequest>;

export const tunnelHost = z.object({
  host: z.string().describe('A public host name, as in the webhook URL.'),
  target: z.string().describe('Where deliveries to it really go.'),
});
export type TunnelHost = z.infer<typeof tunnelHost>;

/** Answer of `GET /hosts`. */
export const tunnelHostList = entriesOf(tunnelHost);
export type TunnelHostList = z.infer<typeof tunnelHostList>;
