import { z } from 'zod';
import { eventType } from './events.ts';

const url = z.url({ protocol: /^https$/ }).describe('HTTPS on a publicly reachable host.');
const events = z.array(eventType).describe('The event types that are delivered.');
const secret = z.string().min(1).describe('Signing secret; shown only here.');

/** Answer of `GET /webhook`; never holds the secret. Implements `Webhook configuration`. */
export const webhookAnswer = z.object({
  url: url.nullable().describe('Null before the first `PUT`.'),
  events,
  secretSet: z.boolean().describe('Whether a signing secret was issued; it is never shown here.'),
});
export type WebhookAnswer = z.infer<typeof webhookAnswer>;

/** Body of `PUT /webhook`. Whether the host is public is for the service to find out: `invalid_webhook`. */
export const putWebhookRequest = z.object({
  url: z.string().min(1).max(2048).describe('HTTPS on a publicly reachable host.'),
});
export type PutWebhookRequest = z.infer<typeof putWebhookRequest>;

/** Answer of `PUT /webhook`. */
export const putWebhookAnswer = z.object({ url, events, secret });
export type PutWebhookAnswer = z.infer<typeof putWebhookAnswer>;

/** Answer of `POST /webhook/rotate`; the old secret is void at once. */
export const rotateWebhookAnswer = z.object({ secret });
export type RotateWebhookAnswer = z.infer<typeof rotateWebhookAnswer>;
