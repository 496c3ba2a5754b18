import { z } from 'zod';
import { identifier } from '../service/fields.ts';
import { change } from './changes.ts';

/** The headers of a request to an HTTP consumer, those of Standard Webhooks. */
export const CONSUMER_HEADERS = {
  id: 'webhook-id',
  timestamp: 'webhook-timestamp',
  signature: 'webhook-signature',
} as const;

const key = identifier.describe(
  'Identifies the change for this consumer permanently: the same in each attempt and each replay. Store it in the same transaction as the effect.',
);
const attempt = z.int().min(1).describe('1 in the first request with these changes.');

const shown = change.describe('The change, as in `GET /v1/changes`.');

/** A change with its key: an entry of a batch, and the data of a job in a BullMQ queue. */
export const keyedChange = z.object({ key, change: shown });
export type KeyedChange = z.infer<typeof keyedChange>;

/** The body of a request to an HTTP consumer whose `batch` is 1. */
export const consumerRequest = z.object({ key, attempt, change: shown });
export type ConsumerRequest = z.infer<typeof consumerRequest>;

/** The body of a request to an HTTP consumer whose `batch` is above 1, also if it contains a single change. */
export const consumerBatchRequest = z.object({
  attempt,
  changes: z
    .array(keyedChange)
    .min(1)
    .max(100)
    .describe('Changes of one connection, in the order of the feed.'),
});
export type ConsumerBatchRequest = z.infer<typeof consumerBatchRequest>;
