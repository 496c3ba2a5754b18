import { z } from 'zod';
import { eventType } from './events.ts';

const url = z.url({ protocol: /^https$/ }).describe('An HTTPS URL on a publicly reachable host.');
const events = z.array(eventType).describe('The event types that are delivered.');
const secret = z.string().min(1).describe('Signing secret; returned only here.');

/** Response of `GET /webhook`; never contains the secret. Implements `Webhook configuration`. */
export const webhookAnswer = z.object({
  url: url.nullable().describe('The webhook URL; null before the first `PUT`.'),
  events,
  secretSet: z
    .boolean()
    .describe('Whether a signing secret was issued; the secret itself is never returned here.'),
});
export type WebhookAnswer = z.infer<typeof webhookAnswer>;

/**
 * Body of `PUT /webhook`. The service checks whether the host is public, and returns `invalid_webhook` if
 * not.
 */
export const putWebhookRequest = z.object({
  url: z.string().min(1).max(2048).describe('An HTTPS URL on a publicly reachable host.'),
});
export type PutWebhookRequest = z.infer<typeof putWebhookRequest>;

/** Response of `PUT /webhook`. */
export const putWebhookAnswer = z.object({ url, events, secret });
export type PutWebhookAnswer = z.infer<typeof putWebhookAnswer>;

/** Response of `POST /webhook/rotate`; the old secret becomes invalid at once. */
export const rotateWebhookAnswer = z.object({ secret });
export type RotateWebhookAnswer = z.infer<typeof rotateWebhookAnswer>;
