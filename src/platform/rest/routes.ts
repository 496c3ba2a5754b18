import type { ServiceEndpointName } from '../../contract/service/endpoints.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { MediaAddress } from '../media/media-address.ts';
import type { MediaStore } from '../media/media-store.ts';
import type { PageCursors } from '../messages/page-cursor.ts';
import type { Sender } from '../messages/send-messages.ts';
import type { PhoneNetwork } from '../network/network.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { ChangeState } from '../time/state-change.ts';
import type { WebhookConfiguration } from '../webhooks/configuration.ts';
import {
  deleteConnectionEndpoint,
  getAccountEndpoint,
  getConnectionEndpoint,
  listConnectionsEndpoint,
  logoutConnectionEndpoint,
  requestPairingCodeEndpoint,
  restartConnectionEndpoint,
} from './connection-endpoints.ts';
import { createConnectionEndpoint } from './create-connection.ts';
import type { Endpoint } from './endpoint.ts';
import { listMessagesEndpoint, markReadEndpoint } from './message-endpoints.ts';
import { sendMessageEndpoint } from './send-message.ts';
import { getWebhookEndpoint, putWebhookEndpoint, rotateWebhookEndpoint } from './webhook-endpoints.ts';

/** What the endpoints need. */
export interface RouteDependencies {
  readonly database: Queryable;
  readonly changeState: ChangeState;
  readonly clock: DomainClock;
  readonly network: PhoneNetwork;
  readonly cursors: PageCursors;
  readonly sender: Sender;
  readonly webhooks: WebhookConfiguration;
  readonly neutralPicture: () => string;
  readonly mediaStore: MediaStore;
  readonly mediaAddress: MediaAddress;
}

/**
 * The endpoints with their handlers. Method, path and scope are in the contract; the checks before a handler
 * are in `gate.ts`. Order matters only for paths that match the same request: a fixed path, such as
 * `/messages/read`, must precede one with a parameter in its place.
 */
export function createRoutes(dependencies: RouteDependencies): readonly Endpoint[] {
  const { changeState, webhooks } = dependencies;
  return Object.values({
    listConnections: listConnectionsEndpoint(dependencies),
    createConnection: createConnectionEndpoint(dependencies),
    getConnection: getConnectionEndpoint(dependencies),
    deleteConnection: deleteConnectionEndpoint(changeState),
    restartConnection: restartConnectionEndpoint(dependencies),
    logoutConnection: logoutConnectionEndpoint(dependencies),
    requestPairingCode: requestPairingCodeEndpoint(dependencies),
    getAccount: getAccountEndpoint(dependencies),
    listMessages: listMessagesEndpoint(dependencies),
    sendMessage: sendMessageEndpoint(dependencies),
    markRead: markReadEndpoint(dependencies),
    getWebhook: getWebhookEndpoint(webhooks),
    putWebhook: putWebhookEndpoint(webhooks),
    rotateWebhook: rotateWebhookEndpoint(webhooks),
  } satisfies Record<ServiceEndpointName, Endpoint>);
}
