import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import { putWebhookRequest } from '../../contract/service/webhook.ts';
import { readShape } from '../calls/read-shape.ts';
import { coveredEvents } from '../credentials/credential.ts';
import type { WebhookConfiguration } from '../webhooks/configuration.ts';
import { defineEndpoint, type Endpoint, ok } from './endpoint.ts';

/** `PUT /webhook`. */
export function putWebhookEndpoint(webhooks: WebhookConfiguration): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.putWebhook,
    read: ({ body }) => readShape(putWebhookRequest, body),
    handle: async (credential, { url }) =>
      ok({ ...(await webhooks.put(credential.subscriptionId, url)), events: coveredEvents(credential) }),
  });
}
