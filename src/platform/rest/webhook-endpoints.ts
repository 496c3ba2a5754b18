import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import { putWebhookRequest } from '../../contract/service/webhook.ts';
import { readShape } from '../calls/read-shape.ts';
import { coveredEvents } from '../credentials/credential.ts';
import type { WebhookConfiguration } from '../webhooks/configuration.ts';
import { defineEndpoint, type Endpoint, ok, readNothing } from './endpoint.ts';

/** `GET /webhook`. */
export function getWebhookEndpoint(webhooks: WebhookConfiguration): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.getWebhook,
    read: readNothing,
    handle: async (credential) =>
      // [choice.oauth.webhook]
      ok({ ...webhooks.get(credential.subscriptionId), events: coveredEvents(credential) }),
  });
}

/** `PUT /webhook`. */
export function putWebhookEndpoint(webhooks: WebhookConfiguration): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.putWebhook,
    read: ({ body }) => readShape(putWebhookRequest, body),
    handle: async (credential, { url }) =>
      ok({ ...(await webhooks.put(credential.subscriptionId, url)), events: coveredEvents(credential) }),
  });
}

/** `POST /webhook/rotate`. */
export function rotateWebhookEndpoint(webhooks: WebhookConfiguration): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.rotateWebhook,
    read: readNothing,
    handle: async (credential) => ok(await webhooks.rotate(credential.subscriptionId)),
  });
}
