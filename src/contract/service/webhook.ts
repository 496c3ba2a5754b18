import { z } from 'zod';
import { eventType } from './events.ts';

// [webhook.config.url]
const url = z.url({ protocol: /^https$/ }).describe('An HTTPS URL on a publicly reachable host.');
const events = z.array(eventType).describe('The event types that are delivered.'); // [webhook.config.events]
const secret = z.string().min(1).describe('Signing secret; returned only here.'); // [webhook.config.secret]

/** Response of `GET /webhook`; never contains the secret. [webhook.get.answer] */
export const webhookAnswer = z.object({
  url: url.nullable().describe('The webhook URL; null before the first `PUT`.'),
  events,
  secretSet: z // [webhook.config.secretSet]
    .boolean()
    .describe('Whether a signing secret was issued; the secret itself is never returned here.'),
});
export type WebhookAnswer = z.infer<typeof webhookAnswer>;

/**
 * Body of `PUT /webhook`. The service checks whether the host is public, and returns `invalid_webhook` if
 * not. [webhook.put.request]
 */
export const putWebhookRequest = z.object({
  url: z.string().min(1).max(2048).describe('An HTTPS URL on a publicly reachable host.'),
});
export type PutWebhookRequest = z.infer<typeof putWebhookRequest>;

/** Response of `PUT /webhook`. [webhook.put.answer] */
export const putWebhookAnswer = z.object({ url, events, secret });
export type PutWebhookAnswer = z.infer<typeof putWebhookAnswer>;

/** Response of `POST /webhook/rotate`; the old secret becomes invalid at once. [webhook.rotate.answer] */
export const rotateWebhookAnswer = z.object({ secret });
export type RotateWebhookAnswer = z.infer<typeof rotateWebhookAnswer>;
