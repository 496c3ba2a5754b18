import { LIMITS } from '../../contract/service/limits.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Sockets } from '../../runtime/public-network/connect-public.ts';
import { type HostLookup, lookupHost } from '../../runtime/public-network/host-lookup.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { LaneLimits } from './account-lane.ts';
import { AccountLanes } from './account-lanes.ts';
import { type AroundAttempt, sendAsSigned } from './around-attempt.ts';
import { clearWebhookTables } from './clear-tables.ts';
import type { WebhookConfiguration } from './configuration.ts';
import { connectReceiver } from './connect-receiver.ts';
import { DeliveryLog } from './delivery-log.ts';
import type { DeliveryRecord } from './delivery-record.ts';
import { loadEvents, type RecordedEvent } from './ledger.ts';
import {
  type DeliveryFilter,
  findDelivery,
  listDeliveries,
  viewDelivery,
  viewPending,
} from './list-deliveries.ts';
import { recoverDeliveries } from './recover-deliveries.ts';
import { type ResendOptions, repeatEnvelope } from './repeat-envelope.ts';
import { appendAttempts, repeatThrough } from './resend-delivery.ts';
import { noTunnels, type TunnelHosts } from './tunnel-hosts.ts';

const LOAD_RETRY_MS = 1_000;

const perAccount = ASSUMPTIONS.webhookPerAccount.value;
const LIMITS_PER_ACCOUNT: LaneLimits = {
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
  readonly hosts?: TunnelHosts;
  readonly lookup?: HostLookup;
  readonly sockets?: Sockets;
  readonly limits?: Partial<LaneLimits>;
  /** Told of each change of a delivery; `read` answers how it stands then. Must be quick and not throw. */
  readonly onChange?: (read: () => DeliveryRecord) => void;
}

/** Brings events to their receivers. */
export interface Delivery {
  /** Marks what an earlier process left undone as dropped. Once, before any other call. */
  start(): Promise<void>;
  /** Begins to deliver events whose state change has committed. Never waits and never throws. */
  deliver(events: readonly RecordedEvent[]): void;
  /** Newest first, pending ones included. */
  list(filter: DeliveryFilter): Promise<DeliveryRecord[]>;
  /**
   * Sends the bytes of a delivery again, to where they went before, each time as one attempt more of the
   * same delivery. Resolves when all have ended; with null for an unknown id, with `waiting` for one that
   * has not begun, with `unsigned` when nothing was ever signed and no webhook is set to sign for.
   */
  resend(id: number, options?: ResendOptions): Promise<DeliveryRecord | 'waiting' | 'unsigned' | null>;
  /**
   * Holds a pending delivery before its next attempt: one under way goes to its end, and if it succeeds there
   * is nothing left to hold. One that has not begun is signed when it is released; one between attempts keeps
   * its bytes, so its signature grows old. Null for an unknown id, `over` when no attempt is to come.
   */
  hold(id: number): Promise<DeliveryRecord | 'over' | null>;
  /** Lets a held delivery go on, at once if its next attempt is due. */
  release(id: number): Promise<DeliveryRecord | 'not_held' | null>;
  /** Resolves when no delivery is open, save those that are held, and all are stored. Retries run by the clock meanwhile. */
  settle(): Promise<void>;
  /** Drops what is open and empties ledger, deliveries and configurations. Nothing may be delivered meanwhile. */
  reset(): Promise<void>;
  /** Ends what is open, stores it as dropped, closes every connection. */
  close(): Promise<void>;
}

export function createDelivery(options: DeliveryOptions): Delivery {
  const { database, clock, logger, configuration, hosts = noTunnels, onChange } = options;
  const log = new DeliveryLog({ database, clock, logger, onRoom: () => lanes.pump() });
  const lanes = new AccountLanes({
    clock,
    configuration,
    hosts,
    log,
    limits: { ...LIMITS_PER_ACCOUNT, ...options.limits },
    around: options.aroundAttempt ?? sendAsSigned,
    connect: connectReceiver({
      hosts,
      lookup: options.lookup ?? lookupHost,
      clock,
      deadlineMs: LIMITS.webhookAttemptTimeoutMs,
      ...(options.sockets === undefined ? {} : { sockets: options.sockets }),
    }),
    load: (eventIds) => loadEvents(database, eventIds),
    onLoadFailure: (subscriptionId, error, retry) => {
      logger.warn({ err: error, subscriptionId }, 'waiting events could not be read back; trying again');
      clock.after(LOAD_RETRY_MS, retry);
    },
    onChange: (delivery, end) => onChange?.(() => viewDelivery(delivery, delivery.event, end)),
  });
  let nextId = 1;
  let closed = false;

  const findRecord = async (id: number): Promise<DeliveryRecord | null> => {
    const pending = lanes.find(id);
    if (pending !== undefined) return viewPending(database, pending.delivery);
    await log.flush();
    return findDelivery(database, id);
  };

  return {
    async start() {
      const recovered = await recoverDeliveries(database, clock.now());
      nextId = recovered.nextId;
      if (recovered.dropped > 0) logger.warn({ count: recovered.dropped }, 'events left undone were dropped');
    },
    deliver(events) {
      if (closed) return;
      const createdAt = clock.now();
      for (const event of events) {
        for (const subscriptionId of [event.workspaceId, ...event.appIds]) {
          const waiting = { id: nextId++, eventId: event.id, subscriptionId, createdAt, event };
          lanes.of(subscriptionId).add(waiting);
        }
      }
    },
    async list(filter) {
      const pending = lanes.pending();
      await log.flush();
      return listDeliveries(database, pending, filter);
    },
    async resend(id, again = {}) {
      const record = await findRecord(id);
      const [event] = record === null ? [] : await loadEvents(database, [record.eventId]);
      if (closed || record === null || event === undefined) return null;
      const lane = lanes.of(record.subscriptionId);
      if (record.outcome === 'pending' && record.url === null) return 'waiting';
      const current = configuration.destination(record.subscriptionId);
      const envelope = repeatEnvelope(record, again, current, clock.now());
      if (envelope === null) return 'unsigned';
      const attempts = await repeatThrough(lane, envelope, again);
      if (!lane.append(id, attempts)) {
        await log.flush();
        await appendAttempts(database, id, envelope, attempts);
      }
      const resent = await findRecord(id);
      if (resent !== null && resent.outcome !== 'pending') onChange?.(() => resent);
      return resent;
    },
    async hold(id) {
      if (lanes.find(id)?.lane.hold(id) === true) return findRecord(id);
      return (await findRecord(id)) === null ? null : 'over';
    },
    async release(id) {
      if (lanes.find(id)?.lane.release(id) === true) return findRecord(id);
      return (await findRecord(id)) === null ? null : 'not_held';
    },
    async settle() {
      do {
        await lanes.untilIdle();
        await log.flush();
      } while (!lanes.idle);
    },
    async reset() {
      await lanes.stop();
      await log.discard();
      await clearWebhookTables(database);
      configuration.forget();
      nextId = 1;
    },
    async close() {
      closed = true;
      await lanes.stop();
      await log.flush();
    },
  };
}
