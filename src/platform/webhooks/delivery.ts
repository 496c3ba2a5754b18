import { LIMITS } from '../../contract/service/limits.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { ASSUMPTIONS } from '../assumptions.ts';
import { AccountLane, type LaneLimits } from './account-lane.ts';
import type { ActiveDelivery } from './active-delivery.ts';
import { clearWebhookTables } from './clear-tables.ts';
import type { WebhookConfiguration } from './configuration.ts';
import { connectReceiver, type Sockets } from './connect-receiver.ts';
import { DeliveryLog } from './delivery-log.ts';
import type { DeliveryRecord } from './delivery-record.ts';
import { type HostLookup, lookupHost } from './host-lookup.ts';
import { loadEvents, type RecordedEvent } from './ledger.ts';
import { type DeliveryFilter, findDelivery, listDeliveries, viewPending } from './list-deliveries.ts';
import { Receivers } from './receivers.ts';
import { recoverDeliveries } from './recover-deliveries.ts';
import { type ResendOptions, repeatEnvelope } from './repeat-envelope.ts';
import { appendAttempts, repeatThrough } from './resend-delivery.ts';
import { noTunnels, type TunnelHosts } from './tunnel-hosts.ts';
import { noFaults, type WebhookFaults } from './webhook-faults.ts';

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
  readonly faults?: WebhookFaults;
  readonly hosts?: TunnelHosts;
  readonly lookup?: HostLookup;
  readonly sockets?: Sockets;
  readonly limits?: Partial<LaneLimits>;
}

/** Brings events to their receivers. Implements `Delivery and signature`. */
export interface Delivery {
  /** Marks what an earlier process left undone as dropped. Once, before any other call. */
  start(): Promise<void>;
  /** Begins to deliver events whose state change has committed. Never waits and never throws. */
  deliver(events: readonly RecordedEvent[]): void;
  /** Newest first, pending ones included. */
  list(filter: DeliveryFilter): Promise<DeliveryRecord[]>;
  /**
   * Sends the bytes of a delivery again, to where they went before, each time as one attempt more of the
   * same delivery. Resolves when all have ended; with null for an unknown id, with `unsigned` when nothing
   * was ever signed and no webhook is set to sign for.
   */
  resend(id: number, options?: ResendOptions): Promise<DeliveryRecord | 'unsigned' | null>;
  /** Resolves when no delivery is open and all are stored. Retries run by the clock meanwhile. */
  settle(): Promise<void>;
  /** Drops what is open and empties ledger, deliveries and configurations. Nothing may be delivered meanwhile. */
  reset(): Promise<void>;
  /** Ends what is open, stores it as dropped, closes every connection. */
  close(): Promise<void>;
}

export function createDelivery(options: DeliveryOptions): Delivery {
  const { database, clock, logger, configuration, hosts = noTunnels } = options;
  const limits = { ...LIMITS_PER_ACCOUNT, ...options.limits };
  const connect = connectReceiver({
    hosts,
    lookup: options.lookup ?? lookupHost,
    clock,
    deadlineMs: LIMITS.webhookAttemptTimeoutMs,
    ...(options.sockets === undefined ? {} : { sockets: options.sockets }),
  });
  const lanes = new Map<string, { lane: AccountLane; receivers: Receivers }>();
  let waiters: (() => void)[] = [];
  let nextId = 1;
  let closed = false;

  const log = new DeliveryLog({
    database,
    clock,
    logger,
    onRoom: () => {
      for (const { lane } of lanes.values()) lane.pump();
    },
  });

  const isIdle = (): boolean => [...lanes.values()].every(({ lane }) => lane.idle);

  const tellIdle = (): void => {
    if (waiters.length === 0 || !isIdle()) return;
    const told = waiters;
    waiters = [];
    for (const tell of told) tell();
  };

  const untilIdle = (): Promise<void> =>
    isIdle() ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve));

  const laneOf = (workspaceId: string): AccountLane => {
    const known = lanes.get(workspaceId);
    if (known !== undefined) return known.lane;
    const receivers = new Receivers({ hosts, connect, connections: limits.attempts });
    const lane = new AccountLane({
      clock,
      limits,
      faults: options.faults ?? noFaults,
      log,
      receivers,
      destination: () => configuration.destination(workspaceId),
      load: (eventIds) => loadEvents(database, eventIds),
      onLoadFailure: (error, retry) => {
        logger.warn({ err: error, workspaceId }, 'waiting events could not be read back; trying again');
        clock.after(LOAD_RETRY_MS, retry);
      },
      onIdle: tellIdle,
    });
    lanes.set(workspaceId, { lane, receivers });
    return lane;
  };

  const stopAll = async (): Promise<void> => {
    const stopped = [...lanes.values()];
    lanes.clear();
    for (const { lane } of stopped) lane.stop();
    tellIdle();
    await Promise.all(stopped.map(({ receivers }) => receivers.close()));
  };

  const findActive = (id: number): ActiveDelivery | undefined => {
    for (const { lane } of lanes.values()) {
      const delivery = lane.find(id);
      if (delivery !== undefined) return delivery;
    }
    return undefined;
  };

  const findRecord = async (id: number): Promise<DeliveryRecord | null> => {
    const active = findActive(id);
    if (active !== undefined) return viewPending(database, active);
    await log.flush();
    return findDelivery(database, id);
  };

  const resend = async (id: number, again: ResendOptions): Promise<DeliveryRecord | 'unsigned' | null> => {
    const record = await findRecord(id);
    const [event] = record === null ? [] : await loadEvents(database, [record.eventId]);
    if (closed || record === null || event === undefined) return null;
    const current = configuration.destination(event.workspaceId);
    const envelope = repeatEnvelope(record, again, current, clock.now());
    if (envelope === null) return 'unsigned';
    const { times = 1, tamper } = again;
    const attempts = await repeatThrough(laneOf(event.workspaceId), envelope, { times, tamper });
    const active = findActive(id);
    if (active === undefined) {
      await log.flush();
      await appendAttempts(database, id, envelope, attempts);
    } else {
      active.attempts.push(...attempts);
    }
    return findRecord(id);
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
        laneOf(event.workspaceId).add({ id: nextId++, eventId: event.id, createdAt, event });
      }
    },
    async list(filter) {
      const pending = [...lanes.values()].flatMap(({ lane }) => lane.pending());
      await log.flush();
      return listDeliveries(database, pending, filter);
    },
    resend: (id, again = {}) => resend(id, again),
    async settle() {
      do {
        await untilIdle();
        await log.flush();
      } while (!isIdle());
    },
    async reset() {
      await stopAll();
      await log.discard();
      await clearWebhookTables(database);
      configuration.forget();
      nextId = 1;
    },
    async close() {
      closed = true;
      await stopAll();
      await log.flush();
    },
  };
}
