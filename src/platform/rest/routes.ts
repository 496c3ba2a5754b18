import type { Clock } from '../../runtime/clock/clock.ts';
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

/** What the endpoints stand on. */
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
  /** How long a client may take for a body is real time. */
  readonly systemClock: Clock;
}

/**
 * The endpoint table. Method, path and scope of each stand in the contract's row that it names; the checks
 * before it stand in `gate.ts`.
 */
export function createRoutes(dependencies: RouteDependencies): readonly Endpoint[] {
  const { changeState, webhooks } = dependencies;
  return [
    listConnectionsEndpoint(dependencies),
    createConnectionEndpoint(dependencies),
    getConnectionEndpoint(dependencies),
    deleteConnectionEndpoint(changeState),
    restartConnectionEndpoint(dependencies),
    logoutConnectionEndpoint(dependencies),
    requestPairingCodeEndpoint(dependencies),
    getAccountEndpoint(dependencies),
    listMessagesEndpoint(dependencies),
    sendMessageEndpoint(dependencies),
    markReadEndpoint(dependencies),
    getWebhookEndpoint(webhooks),
    putWebhookEndpoint(webhooks),
    rotateWebhookEndpoint(webhooks),
  ];
}
