import type { Clock } from '../runtime/clock/clock.ts';
import type { Database } from '../runtime/database/database.ts';
import type { Logger } from '../runtime/logger/logger.ts';
import type { HostLookup } from '../runtime/public-network/host-lookup.ts';
import type { OnCall } from './calls/call-record.ts';
import type { AroundCall } from './calls/call-shell.ts';
import type { BaseUrls } from './kernel/base-urls.ts';
import type { IsStored } from './messages/execute-send.ts';
import type { PortalSessions } from './oauth/portal-session.ts';
import type { RecordTransition } from './time/state-change.ts';
import type { StoredTimer } from './time/timers.ts';
import type { AroundAttempt } from './webhooks/around-attempt.ts';
import type { WebhookSecrets } from './webhooks/configuration.ts';
import type { DeliveryRecord } from './webhooks/delivery-record.ts';
import type { TunnelHosts } from './webhooks/tunnel-hosts.ts';

/** Ports that the sandbox provides. All are optional. */
export interface PlatformPorts {
  /** Wraps the HTTP client of deliveries. */
  readonly aroundAttempt?: AroundAttempt;
  /** Wraps each call to the API, the authorization server and the tools. */
  readonly aroundCall?: AroundCall;
  /** Whether the message that a call sends is stored; default: it is. */
  readonly isStored?: IsStored;
  /** Sessions of the developer portal; default: none. */
  readonly portal?: PortalSessions;
  readonly hosts?: TunnelHosts;
  /** Resolves the names of receivers; default: the system. */
  readonly lookup?: HostLookup;
  /** Provides signing secrets instead of random ones. */
  readonly webhookSecrets?: WebhookSecrets;
  /** Draws in [0, 1). */
  readonly random?: () => number;
  /** Called for each call to the API and to the authorization server. */
  readonly onCall?: OnCall;
  /** Called once events are in the ledger. Must not throw or block; neither must the two below. */
  readonly onEvents?: () => void;
  /** Called for each change that an attempt makes to a delivery. */
  readonly onDelivery?: (delivery: DeliveryRecord) => void;
  /** Stores each transition of a connection in its transaction. What it throws undoes the change. */
  readonly recordTransition?: RecordTransition;
  /** Called for timers that have fired. */
  readonly onTimers?: (timers: readonly StoredTimer[]) => void;
}

/** Options of the service. */
export interface PlatformOptions {
  /** Must be migrated. It stays open when the platform closes. */
  readonly database: Database;
  readonly systemClock: Clock;
  readonly logger: Logger;
  readonly baseUrls: () => BaseUrls;
  /** The scale of send latency at start and after a reset: 1 is real, 0 is none. */
  readonly sendScale: number;
  /** Sends of one connection per minute that the abuse limiter allows; absent: the value in `assumptions.ts`. */
  readonly sendsPerMinute?: number;
  /** Addresses and CIDR ranges of proxies whose `X-Forwarded-For` is trusted; default: none. */
  readonly trustedProxies?: readonly string[];
  /**
   * Names in `Host` that are accepted besides those of this machine, wherever the service listens. Default: none on a
   * loopback address, and elsewhere any name.
   */
  readonly allowedHosts?: readonly string[];
  readonly ports?: PlatformPorts;
  /** Called when another process has taken over the database; this process must end. */
  readonly onTakenOver?: () => void;
}
