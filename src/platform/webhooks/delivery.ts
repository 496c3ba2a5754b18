import type { buildConnector } from 'undici';
import type { Filter } from '../../contract/sandbox/filter.ts';
import { LIMITS } from '../../contract/service/limits.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import {
  type ConnectPublicOptions,
  connectPublic,
  type Sockets,
} from '../../runtime/public-network/connect-public.ts';
import { type HostLookup, lookupHost } from '../../runtime/public-network/host-lookup.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { MayBegin, QueueLimits } from './account-queue.ts';
import { AccountQueues } from './account-queues.ts';
import type { Envelope } from './active-delivery.ts';
import { type AroundAttempt, sendAsSigned } from './around-attempt.ts';
import { unsentAttempt } from './attempt-slots.ts';
import type { WebhookConfiguration } from './configuration.ts';
import { DeliveryLog } from './delivery-log.ts';
import type { Attempt, DeliveryRecord, Variant } from './delivery-record.ts';
import { appendAttempts, recoverDeliveries } from './delivery-store.ts';
import { loadEvents, type RecordedEvent } from './ledger.ts';
import {
  countDeliveries,
  type DeliveryCount,
  type DeliveryFilter,
  type DeliveryValue,
  findDelivery,
  listDeliveries,
  viewDelivery,
  viewPending,
} from './list-deliveries.ts';
import { noTunnels, type TunnelHosts } from './tunnel-hosts.ts';

const LOAD_RETRY_MS = 1_000;

const perAccount = ASSUMPTIONS.webhookPerAccount.value;
const LIMITS_PER_ACCOUNT: QueueLimits = {
  attempts: perAccount.attemptsAtOnce,
  deliveries: perAccount.deliveries,
  events: perAccount.waitingEvents,
  bytes: perAccount.waitingBytes,
  ids: perAccount.waitingIds,
};

export interface DeliveryOptions {
  readonly database: Database;
  /** The system clock: signed timestamps, retry delays and time-outs are wall-clock. */
  readonly clock: Clock;
  readonly logger: Logger;
  readonly configuration: WebhookConfiguration;
  readonly aroundAttempt?: AroundAttempt | undefined;
  /** Default: every attempt begins when it is due. */
  readonly mayBegin?: MayBegin | undefined;
  readonly hosts?: TunnelHosts;
  readonly lookup?: HostLookup;
  readonly sockets?: Sockets;
  readonly limits?: Partial<QueueLimits>;
  /** Called for each change of a delivery; `read` returns its state. Must be quick and not throw. */
  readonly onChange?: (read: () => DeliveryRecord) => void;
}

/** Delivers events to their receivers. */
export interface Delivery {
  /** Stores unfinished deliveries of an earlier process as dropped. Call it once, before any other. */
  start(): Promise<void>;
  /** Starts the delivery of events whose state change has been committed. Never blocks and never throws. */
  deliver(events: readonly RecordedEvent[]): void;
  /** Deliveries, newest first, including pending ones. */
  list(filter: DeliveryFilter): Promise<DeliveryRecord[]>;
  /** How many deliveries match, and which of them are pending. */
  count(where: Filter<DeliveryValue>): Promise<DeliveryCount>;
  /** One delivery; null for an unknown id. */
  find(id: number): Promise<DeliveryRecord | null>;
  /** How many deliveries have begun, including those of earlier processes. */
  readonly begun: number;
  /** Whether a delivery is waiting or in progress. */
  isOpen(id: number): boolean;
  /**
   * Starts a separate delivery of other bytes to the subscription of a delivery, signed now.
   * Resolves with it as it stands; null for an unknown id.
   */
  vary(variant: Variant): Promise<DeliveryRecord | null>;
  /** Sends an envelope once to a subscription, independently of any delivery. Resolves with the result. */
  sendOnce(subscriptionId: string, envelope: Envelope): Promise<Attempt>;
  /** Adds attempts to a delivery. One that a receiver accepted makes a dropped delivery delivered. */
  append(id: number, envelope: Envelope, attempts: readonly Attempt[]): Promise<void>;
  /**
   * Resolves when all deliveries are finished and stored, except those that may not begin yet. Retries still wait for
   * the clock.
   */
  settle(): Promise<void>;
  /**
   * Drops open deliveries, has `clear` empty the tables of webhooks, and starts over. Must not run concurrently with
   * `deliver`. Throws what `clear` throws.
   */
  reset(clear: () => Promise<void>): Promise<void>;
  /** Ends open deliveries, stores them as dropped, and closes all connections. */
  close(): Promise<void>;
}

/**
 * Connects to a receiver: with TLS to an address that was just checked to be public, or with plain TCP to the target of
 * a tunnel.
 */
function connectReceiver({
  hosts,
  ...options
}: Omit<ConnectPublicOptions, 'detour'> & { readonly hosts: TunnelHosts }): buildConnector.connector {
  return connectPublic({
    ...options,
    detour({ host }) {
      const target = hosts.target(host);
      if (target === undefined) return undefined;
      const { hostname, port } = new URL(target);
      return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80), tls: false };
    },
  });
}

export function createDelivery(options: DeliveryOptions): Delivery {
  const { database, clock, logger, configuration, hosts = noTunnels, onChange } = options;
  const log = new DeliveryLog({ database, clock, logger, onRoom: () => queues.pump() });
  const queues = new AccountQueues({
    clock,
    configuration,
    hosts,
    log,
    limits: { ...LIMITS_PER_ACCOUNT, ...options.limits },
    around: options.aroundAttempt ?? sendAsSigned,
    mayBegin: options.mayBegin ?? (() => true),
    connect: connectReceiver({
      hosts,
      lookup: options.lookup ?? lookupHost,
      clock,
      deadlineMs: LIMITS.webhookAttemptTimeoutMs,
      ...(options.sockets === undefined ? {} : { sockets: options.sockets }),
    }),
    load: (eventIds) => loadEvents(database, eventIds),
    onLoadFailure: (subscriptionId, error, retry) => {
      logger.warn({ err: error, subscriptionId }, 'waiting events could not be read back; retrying');
      clock.after(LOAD_RETRY_MS, retry);
    },
    onChange: (delivery, end) => onChange?.(() => viewDelivery(delivery, delivery.event, end)),
  });
  let nextId = 1;
  let closed = false;

  return {
    async start() {
      const recovered = await recoverDeliveries(database, clock.now());
      nextId = recovered.nextId;
      if (recovered.dropped > 0) logger.warn({ count: recovered.dropped }, 'unfinished events were dropped');
    },
    deliver(events) {
      if (closed) return;
      const createdAt = clock.now();
      for (const event of events) {
        for (const subscriptionId of [event.workspaceId, ...event.appIds]) {
          const waiting = { id: nextId++, eventId: event.id, subscriptionId, createdAt, event };
          queues.of(subscriptionId).add(waiting);
        }
      }
    },
    async list(filter) {
      const pending = queues.pending();
      await log.flush();
      return listDeliveries(database, pending, filter);
    },
    async count(where) {
      const pending = queues.pending();
      await log.flush();
      return countDeliveries(database, pending, where);
    },
    async find(id) {
      const pending = queues.find(id);
      if (pending !== undefined) return viewPending(database, pending.delivery);
      await log.flush();
      return findDelivery(database, id);
    },
    async vary(variant) {
      const origin = await this.find(variant.of);
      const [event] = origin === null ? [] : await loadEvents(database, [origin.eventId]);
      if (closed || origin === null || event === undefined) return null;
      const { eventId, subscriptionId } = origin;
      const waiting = { id: nextId++, eventId, subscriptionId, createdAt: clock.now(), event, variant };
      queues.of(subscriptionId).add(waiting);
      return this.find(waiting.id);
    },
    get begun() {
      return nextId - 1;
    },
    isOpen: (id) => queues.find(id) !== undefined,
    sendOnce: async (subscriptionId, envelope) =>
      closed ? unsentAttempt(clock, 'stopped') : queues.of(subscriptionId).repeat(envelope),
    async append(id, envelope, attempts) {
      if (queues.find(id)?.queue.append(id, attempts) === true) return;
      await log.flush();
      await appendAttempts(database, id, envelope, attempts);
    },
    async settle() {
      do {
        await queues.untilIdle();
        await log.flush();
      } while (!queues.idle);
    },
    async reset(clear) {
      await queues.stop();
      await log.discard();
      await clear();
      configuration.forget();
      nextId = 1;
    },
    async close() {
      closed = true;
      await queues.stop();
      await log.flush();
    },
  };
}
