import { CONNECTION_ENDPOINTS } from './connection-endpoints.ts';
import { CONSUMER_ENDPOINTS } from './consumer-endpoints.ts';
import { MESSAGE_ENDPOINTS } from './message-endpoints.ts';
import { SYNC_ENDPOINTS } from './sync-endpoints.ts';
import { WEBHOOK_ENDPOINTS } from './webhook-endpoints.ts';

/** All endpoints of the connector, by operation name. Paths are relative to the connector's address. */
export const CONNECTOR_ENDPOINTS = {
  ...WEBHOOK_ENDPOINTS,
  ...SYNC_ENDPOINTS,
  ...CONNECTION_ENDPOINTS,
  ...MESSAGE_ENDPOINTS,
  ...CONSUMER_ENDPOINTS,
};

/** Operation name of an endpoint. */
export type ConnectorEndpointName = keyof typeof CONNECTOR_ENDPOINTS;
