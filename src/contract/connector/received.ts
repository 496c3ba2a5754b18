import { z } from 'zod';
import { queryInteger } from '../schema/query.ts';
import { dateTime } from '../service/fields.ts';
import { CONNECTOR_PAGE } from './lists.ts';

const receivedDelivery = z.object({
  id: z.string().describe('Id of the entry. Larger ones are newer.'),
  at: dateTime.describe("When it was answered, by the connector's clock."),
  ms: z.int().describe('Milliseconds from the headers of the request to its answer.'),
  status: z.int().nullable().describe('The HTTP status of the answer; null if the sender hung up.'),
  reason: z
    .string()
    .nullable()
    .describe('Why it was refused, as in `GET /v1/statistics`; null if it was accepted.'),
  says: z.string().nullable().describe('The reason, for people.'),
  subscriptionId: z.string().describe('The subscription that was addressed; empty if it is not known.'),
  event: z.string().nullable().describe('The event of an accepted delivery, as far as it could be read.'),
  connectionId: z.string().nullable().describe('Its connection.'),
  messageId: z
    .string()
    .nullable()
    .describe('Its message, of which `GET /v1/messages/{id}/trace` tells more.'),
});
export type ReceivedDelivery = z.infer<typeof receivedDelivery>;

export const listDeliveriesQuery = z.strictObject({
  result: z.enum(['accepted', 'refused']).optional().describe('Only `accepted`, or only `refused` requests.'),
  limit: queryInteger(CONNECTOR_PAGE).describe('Maximum number of entries.'),
});

/** Response of `GET /v1/deliveries`. */
export const receivedDeliveryList = z.object({
  deliveries: z.array(receivedDelivery).describe('Newest first.'),
});
