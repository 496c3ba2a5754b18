import type { Clock } from '../runtime/clock/clock.ts';
import type { Database } from '../runtime/database/database.ts';
import type { Logger } from '../runtime/logger/logger.ts';
import type { HostLookup } from '../runtime/public-network/host-lookup.ts';
import type { OnCall } from './calls/call-record.ts';
import type { AroundCall } from './calls/call-shell.ts';
import type { BaseUrls } from './kernel/base-urls.ts';
import type { AroundStore } from './messages/carry-out-send.ts';
import type { PortalSessions } from './oauth/portal-session.ts';
import type { RecordTransition } from './time/state-change.ts';
import type { StoredTimer } from './time/timers.ts';
import type { MayBegin } from './webhooks/account-queue.ts';
import type { AroundAttempt } from './webhooks/around-attempt.ts';
import type { WebhookSecrets } from './webhooks/configuration.ts';
import type { DeliveryRecord } from './webhooks/delivery-record.ts';
import type { RecordedEvent } from './webhooks/ledger.ts';
import type { TunnelHosts } from './webhooks/tunnel-hosts.ts';

/** What the sandbox hands over. Each is absent in a service that nobody plays with. */
export interface PlatformPorts {
  /** Stands around the HTTP client of deliveries. */
  readonly aroundAttempt?: AroundAttempt;
  /** Asked before each attempt of a delivery; default: it begins when it is due. */
  readonly mayBegin?: MayBegin;
  /** Stands around each call to the API, the authorization server and the tools. */
  readonly aroundCall?: AroundCall;
  /** Stands around the storing of each message that the network has. */
  readonly aroundStore?: AroundStore;
  /** Who is signed in to the developer portal; default: nobody. */
  readonly portal?: PortalSessions;
  readonly hosts?: TunnelHosts;
  /** Resolves the names of receivers; default: the system. */
  readonly lookup?: HostLookup;
  /** Issues signing secrets in place of random ones. */
  readonly webhookSecrets?: WebhookSecrets;
  /** Draws in [0, 1). */
  readonly random?: () => number;
  /** Told of each call to the API and to the authorization server. */
  readonly onCall?: OnCall;
  /** Told once events are in the ledger. Must not throw or block; so must the two below. */
  readonly onEvents?: (events: readonly RecordedEvent[]) => void;
  /** Told of each change of a delivery; `read` answers how it stands then. */
  readonly onDelivery?: (read: () => DeliveryRecord) => void;
  /** Stores each transition of a connection in its transaction. What it throws undoes the change. */
  readonly recordTransition?: RecordTransition;
  /** Told of timers that have fired. */
  readonly onTimers?: (timers: readonly StoredTimer[]) => void;
}

/** What the service needs to start. */
export interface PlatformOptions {
  /** Migrated; stays open when the platform closes. */
  readonly database: Database;
  readonly systemClock: Clock;
  readonly logger: Logger;
  readonly baseUrls: () => BaseUrls;
  /** The pace of sends at start and after a reset. 1 is real, 0 none. */
  readonly sendScale: number;
  /** Sends of one connection in a minute before the abuse limiter steps in; absent: the assumed. */
  readonly sendsPerMinute?: number;
  /** Addresses and CIDR ranges of proxies whose `X-Forwarded-For` is believed; default: none. */
  readonly trustedProxies?: readonly string[];
  readonly ports?: PlatformPorts;
  /** Called when another process took over the database; this one must end. */
  readonly onTakenOver?: () => void;
}
