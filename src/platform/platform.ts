import type express from 'express';
import type { Clock } from '../runtime/clock/clock.ts';
import type { Database } from '../runtime/database/database.ts';
import type { Logger } from '../runtime/logger/logger.ts';
import type { Connections } from './connections/connections.ts';
import type { Workspaces } from './connections/workspaces.ts';
import type { ApiKeys } from './credentials/api-keys.ts';
import type { Licences } from './licensing/licences.ts';
import type { Messages, SendTiming } from './messages/messages.ts';
import type { Contacts } from './network/contacts.ts';
import type { ApiFaults } from './rest/api-faults.ts';
import type { VirtualTime } from './time/virtual-time.ts';
import type { WebhookConfiguration } from './webhooks/configuration.ts';
import type { Delivery, TunnelHosts, WebhookFaults } from './webhooks/delivery.ts';

/** Where the service is reached; read on each use, since a free port is known only after listening. */
export interface BaseUrls {
  /** `{base_url}`, with `/api/v1`. */
  readonly api: string;
  readonly legacyApi: string;
  readonly auth: string;
}

export interface PlatformOptions {
  readonly database: Database;
  readonly systemClock: Clock;
  readonly logger: Logger;
  readonly baseUrls: () => BaseUrls;
  /** The pace of sends at start and after a reset. 1 is real, 0 none. */
  readonly sendScale: number;
  /** What the sandbox hands over. Each is absent in a service that nobody plays with. */
  readonly ports?: {
    readonly webhookFaults?: WebhookFaults;
    readonly apiFaults?: ApiFaults;
    readonly hosts?: TunnelHosts;
    /** Draws in [0, 1). */
    readonly random?: () => number;
  };
}

/** The service. `app` is what its clients see; the rest is for the hand that moves people, phones and time. */
export interface Platform {
  /** Serves `/api/v1`; every listener that mounts it serves the identical API. */
  readonly app: express.Express;
  readonly workspaces: Workspaces;
  readonly apiKeys: ApiKeys;
  readonly connections: Connections;
  readonly licences: Licences;
  readonly messages: Messages;
  readonly timing: SendTiming;
  readonly contacts: Contacts;
  readonly time: VirtualTime;
  readonly webhooks: WebhookConfiguration;
  readonly delivery: Delivery;
  /** Runs all that is due on both clocks until no request is open. */
  settle(): Promise<void>;
  /** Removes everything but time. New objects get new ids. */
  reset(): Promise<void>;
  /** Ends sends under way, deliveries and timers, and frees the database for another process. */
  close(): Promise<void>;
}
