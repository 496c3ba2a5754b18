import { z } from 'zod';
import { optionalQueryInteger, queryInteger } from '../schema/query.ts';
import { EVENT_TYPES, eventType } from '../service/events.ts';
import { dateTime } from '../service/fields.ts';
import { messageStatus } from '../service/statuses.ts';
import { filterQuery } from './filter.ts';
import { entriesOf, SANDBOX_PAGE, sandboxOrder, sandboxPageQuery } from './lists.ts';

const id = z.string().min(1).max(255);

export const DELIVERY_OUTCOMES = ['pending', 'delivered', 'dropped'] as const;
export const deliveryOutcome = z.enum(DELIVERY_OUTCOMES);
export type DeliveryOutcome = z.infer<typeof deliveryOutcome>;

/** Why an event was dropped before all attempts were made. */
export const DROP_REASONS = ['no_webhook', 'interrupted'] as const;

/** One request of a delivery. It has a `status` or an `error` once it has finished. */
export const deliveryAttempt = z.object({
  at: dateTime.describe('When the request started, by the wall clock.'),
  ms: z.number().min(0).describe('How long the request took.'),
  status: z.int().optional().describe("HTTP status of the receiver's response."),
  response: z
    .object({
      headers: z
        .record(z.string(), z.string())
        .describe('Those headers that tell who answered, and what to do; their names are in lower case.'),
      body: z
        .string()
        .describe(
          'At most 16 kB of the body as text, in lists and events 2 kB; one that is cut off ends with the number of bytes that follow, such as `… (31816 more bytes)`.',
        ),
    })
    .optional()
    .describe(
      "The beginning of the receiver's response; absent if it has none of these headers and no body.",
    ),
  error: z
    .string()
    .optional()
    .describe('Why there was no response, or why it does not count, and what to do.'),
  faults: z.array(z.string()).optional().describe('Ids of the fault rules that affected the attempt.'),
});
export type DeliveryAttempt = z.infer<typeof deliveryAttempt>;

const subscription = z
  .object({
    kind: z
      .enum(['workspace', 'app'])
      .describe('Whether the webhook belongs to a workspace or to an OAuth app.'),
    id: id.describe('Id of the workspace, or client id of the app.'),
  })
  .describe('The owner of the webhook: a workspace, or an OAuth app by its client id.');

/** An event on its way to a receiver. */
export const delivery = z.object({
  id: id.describe('Id of the delivery.'),
  copyOf: id
    .optional()
    .describe(
      'Present for a copy that somebody has sent: id of the delivery that was copied. The other ids are those of the copied delivery, and the ledger contains no copy.',
    ),
  event: eventType.describe('Type of the event.'),
  workspaceId: id.describe('The workspace of its connection.'),
  connectionId: id.describe('The connection that the event concerns.'),
  messageId: id.nullable().describe('The message that the event concerns; null for connection events.'),
  subscription,
  url: z.string().nullable().describe('The webhook URL; null before the first attempt, and if none was set.'),
  outcome: deliveryOutcome.describe(
    '`pending` until the delivery has succeeded or its last attempt has failed.',
  ),
  reason: z.enum(DROP_REASONS).optional().describe('Why an event was dropped before all attempts were made.'),
  held: z.literal(true).optional().describe('Present if the next attempt is held until it is released.'),
  createdAt: dateTime.describe('When the delivery was created, by the wall clock.'),
  headers: z
    .record(z.string(), z.string())
    .describe('The headers of each unmodified attempt; empty before the first attempt.'),
  body: z.string().describe('The raw body.'),
  attempts: z.array(deliveryAttempt).describe('Every request that was made, oldest first.'),
});
export type Delivery = z.infer<typeof delivery>;

/** Newest first. */
export const deliveryList = entriesOf(delivery);
export type DeliveryList = z.infer<typeof deliveryList>;

/** What deliveries can be filtered by. */
export const DELIVERY_KEYS = {
  status: { description: 'the outcome', values: DELIVERY_OUTCOMES },
  type: { description: 'the type of the event', values: EVENT_TYPES },
  workspace: { description: 'the workspace of the connection' },
  connection: { description: 'the connection' },
  message: { description: 'the message' },
  webhook: { description: 'the owner of the webhook, a workspace or a client id' },
  reason: { description: 'why an event was dropped without its attempts', values: DROP_REASONS },
  url: { description: 'the webhook URL' },
  copy: { description: 'the delivery that it is a copy of' },
  fault: { description: 'a fault rule that affected one of its attempts' },
} as const;
export type DeliveryKey = keyof typeof DELIVERY_KEYS;

/** Query of `GET /deliveries`. */
export const listDeliveriesQuery = z.strictObject({
  q: filterQuery(DELIVERY_KEYS),
  event: eventType.optional().describe('Only events of this type.'),
  workspaceId: id.optional().describe('Only events of this workspace.'),
  connectionId: id.optional().describe('Only events of this connection.'),
  outcome: deliveryOutcome.optional().describe('Only deliveries with this outcome.'),
  ...sandboxPageQuery,
});
export type ListDeliveriesQuery = z.infer<typeof listDeliveriesQuery>;

/** Query of `GET /deliveries/counts`. */
export const countDeliveriesQuery = z.strictObject({ q: filterQuery(DELIVERY_KEYS) });

const count = z.int().min(0);

/** How many deliveries there are by outcome. */
export const deliveryCounts = z.object({
  pending: count.describe('Deliveries that have neither succeeded nor failed for the last time.'),
  held: count.describe('Pending deliveries that are held until they are released.'),
  delivered: count.describe('Deliveries that succeeded.'),
  dropped: count.describe('Deliveries that were given up.'),
});

/** Body of `POST /deliveries/{id}/resend`. By default the same bytes and signature are sent again. */
export const resendRequest = z.strictObject({
  resign: z
    .boolean()
    .optional()
    .describe('True signs the body again: the old signature is stale after 5 minutes.'),
  times: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe('How many times to send it, one after the other; defaults to 1.'),
  tamper: z
    .enum(['body', 'signature', 'timestamp'])
    .optional()
    .describe('What to alter after signing, so that the receiver must reject it.'),
});
export type ResendRequest = z.infer<typeof resendRequest>;

/** Headers that a copy cannot set, because they belong to the signature or to the connection. */
const RESERVED_HEADERS = [
  'x-service-timestamp',
  'x-service-signature',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];
const MAX_COPIED_HEADERS = 50;
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,100}$/;
const HEADER_VALUE = /^(?! )[\x20-\x7e]{0,4096}(?<! )$/;

/** Body of `POST /deliveries/{id}/copies`. What is omitted is copied. */
export const copyRequest = z.strictObject({
  body: z
    .string()
    .max(2 * 1024 * 1024)
    // Postgres stores no NUL.
    .regex(/^[^\0]*$/, 'must not contain a NUL')
    .optional()
    .describe('The raw body, which need not be JSON. It is sent as UTF-8.'),
  headers: z
    .record(z.string(), z.string())
    .superRefine((headers, { addIssue }) => {
      const given = Object.entries(headers);
      if (given.length > MAX_COPIED_HEADERS) {
        addIssue({ code: 'custom', message: `has more than ${MAX_COPIED_HEADERS} headers` });
      }
      for (const [name, value] of given) {
        const problem = RESERVED_HEADERS.includes(name.toLowerCase())
          ? 'belongs to the signature or to the connection'
          : HEADER_NAME.test(name)
            ? HEADER_VALUE.test(value)
              ? null
              : 'is not a header value of printable ASCII characters'
            : 'is not a header name';
        if (problem !== null) addIssue({ code: 'custom', message: problem, path: [name] });
      }
    })
    .optional()
    .describe(
      'Headers to add, or to replace whatever the case of their names: any but those of the signature, which is computed, and those of the connection.',
    ),
});
export type CopyRequest = z.infer<typeof copyRequest>;

/** A webhook that is set, and how its last deliveries went. */
export const registeredWebhook = z.object({
  subscription,
  url: z.string().describe('The webhook URL.'),
  changedAt: dateTime.describe('When its URL or its secret was last changed, by the wall clock.'),
  lastDeliveries: z
    .array(
      z.object({
        id: id.describe('Id of the delivery.'),
        event: eventType.describe('Type of the event.'),
        outcome: deliveryOutcome.describe('The outcome so far.'),
        createdAt: dateTime.describe('When the delivery was created, by the wall clock.'),
        status: z.int().optional().describe("HTTP status of the receiver's response to the last attempt."),
        error: z.string().optional().describe('Why the last attempt had no response.'),
      }),
    )
    .describe('The last 10 deliveries to this webhook, newest first.'),
});
export type RegisteredWebhook = z.infer<typeof registeredWebhook>;
export const webhookList = entriesOf(registeredWebhook);

/** An event that the service meant to deliver, whether or not it arrived. */
export const ledgerEntry = z.object({
  seq: z.int().min(1).describe('Number of the entry; the numbers have no gaps.'),
  at: dateTime.describe('When the event was created, in virtual time.'),
  event: eventType.describe('Type of the event.'),
  connectionId: id.describe('The connection that the event concerns.'),
  messageId: id.nullable().describe('The message that the event concerns; null for connection events.'),
  status: messageStatus.optional().describe('The status reported by a `message.status`.'),
  payload: z.record(z.string(), z.unknown()).describe('The parsed body.'),
});
export type LedgerEntry = z.infer<typeof ledgerEntry>;

/** Ordered by `seq`, oldest first unless `order` is `newest`. */
export const ledger = entriesOf(ledgerEntry);
export type Ledger = z.infer<typeof ledger>;

/**
 * Query of `GET /ledger`. Pass `nextCursor` as `after` to get the next page or, with the newest first, as
 * `before`.
 */
export const readLedgerQuery = z.strictObject({
  after: optionalQueryInteger({ min: 0 }).describe(
    'Only entries with a larger `seq`: pass the last one that you read.',
  ),
  before: optionalQueryInteger({ min: 0 }).describe('Only entries with a smaller `seq`.'),
  order: sandboxOrder,
  limit: queryInteger(SANDBOX_PAGE).describe('Maximum number of entries to list.'),
});
export type ReadLedgerQuery = z.infer<typeof readLedgerQuery>;

/** Body of `PUT /hosts/{host}`: where deliveries to `https://{host}/…` are actually sent. */
export const putHostRequest = z.strictObject({
  target: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .describe(
      'Where the requests are actually sent, for example `http://127.0.0.1:4020`. Only addresses of this machine, unless the service was started with `PLATFORM_TUNNEL_TARGETS`.',
    ),
});
export type PutHostRequest = z.infer<typeof putHostRequest>;

export const tunnelHost = z.object({
  host: z.string().describe('A public host name, as in the webhook URL.'),
  target: z.string().describe('Where deliveries to the host are actually sent.'),
});
export type TunnelHost = z.infer<typeof tunnelHost>;

/** Response of `GET /hosts`. */
export const tunnelHostList = entriesOf(tunnelHost);
export type TunnelHostList = z.infer<typeof tunnelHostList>;
