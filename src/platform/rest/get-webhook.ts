import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import { coveredEvents } from '../credentials/credential.ts';
import type { WebhookConfiguration } from '../webhooks/configuration.ts';
import { defineEndpoint, type Endpoint, ok, readNothing } from './endpoint.ts';

/** `GET /webhook`. */
export function getWebhookEndpoint(webhooks: WebhookConfiguration): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.getWebhook,
    read: readNothing,
    handle: async (credential) =>
      ok({ ...webhooks.get(credential.subscriptionId), events: coveredEvents(credential) }),
  });
}
