import { SERVICE_ENDPOINTS } from '../../contract/service/endpoints.ts';
import type { WebhookConfiguration } from '../webhooks/configuration.ts';
import { defineEndpoint, type Endpoint, ok, readNothing } from './endpoint.ts';

/** `POST /webhook/rotate`. */
export function rotateWebhookEndpoint(webhooks: WebhookConfiguration): Endpoint {
  return defineEndpoint({
    row: SERVICE_ENDPOINTS.rotateWebhook,
    read: readNothing,
    handle: async (credential) => ok(await webhooks.rotate(credential.subscriptionId)),
  });
}
