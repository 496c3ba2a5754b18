import { z } from 'zod';
import { dateTime } from '../service/fields.ts';

const count = z.int().min(0);
const level = z.number().min(0).nullable();

/** What all processes counted in one slot of time. */
const point = z.object({
  at: dateTime.describe("The beginning of the slot, by the connector's clock."),
  webhooks: z
    .object({
      received: count.describe('Deliveries that were stored and answered with 200.'),
      unchanged: count.describe('Those of them that changed nothing: mostly copies.'),
      refused: z
        .record(z.string(), count)
        .describe('Requests that were refused, by reason: `wrong_signature`, `stale_timestamp` and others.'),
    })
    .describe('Requests to the webhook.'),
  polls: z
    .object({
      good: count.describe('Polls that succeeded.'),
      failed: count.describe('Polls that failed.'),
      repaired: count.describe('Messages and statuses that polling found and no webhook had delivered.'),
    })
    .describe('Polls of accounts.'),
  sends: z
    .object({
      sent: count.describe('Sends that reached the service.'),
      failed: count.describe('Sends that ended as `rejected` or `unknown`.'),
      waiting: level.describe('The most sends that were queued or running.'),
    })
    .describe('Sends of the CRM.'),
  changes: count.nullable().describe('Changes that were numbered. Null if the number before is not known.'),
  consumers: z
    .object({
      taken: count.describe('Calls that consumers accepted.'),
      failed: count.describe('Calls that consumers did not accept.'),
      latencySeconds: z
        .number()
        .min(0)
        .nullable()
        .describe('The mean time from a change until a consumer has accepted it. Null without such a call.'),
      waiting: level.describe('The most changes that waited for consumers.'),
      lagSeconds: level.describe('The highest age of a change that waited for a consumer.'),
      parked: level.describe('The most connections that waited because a call failed.'),
      deadLetters: level.describe('The most dead letters.'),
    })
    .describe('Calls of consumers.'),
});
export type StatisticsPoint = z.infer<typeof point>;

export const STATISTICS_RANGES = ['hour', 'day'] as const;
export const statisticsQuery = z.strictObject({
  range: z
    .enum(STATISTICS_RANGES)
    .default('hour')
    .describe('`hour`: the last 60 minutes. `day`: the last 96 quarters of an hour.'),
});

/** Response of `GET /v1/statistics`. */
export const statistics = z.object({
  at: dateTime.describe('When this was read.'),
  stepSeconds: z.int().describe('The length of a slot.'),
  from: dateTime.describe('The beginning of the first slot. The last slot is the present one, and not over.'),
  points: z
    .array(point)
    .describe('The slots, oldest first. One is missing if no process of the connector counted in it.'),
});
export type Statistics = z.infer<typeof statistics>;
