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
import { AccountQueue } from './account-queue.ts';
import { type AroundAttempt, sendAsSigned } from './around-attempt.ts';
import type { WebhookConfiguration } from './configuration.ts';
import type { Attempt, DeliveryRecord } from './delivery-record.ts';
import { dropPending } from './delivery-rows.ts';
import {
  countDeliveries,
  type DeliveryCount,
  type DeliveryFilter,
  type DeliveryValue,
  findDelivery,
  lastDeliveryId,
  listDeliveries,
} from './list-deliveries.ts';
import { Receivers } from './receivers.ts';
import type { ShapedAttempt } from './signed-body.ts';
import { noTunnels, type TunnelHosts } from './tunnel-hosts.ts';

export interface DeliveryOptions {
  readonly database: Database;
  /** The system clock: signed timestamps, retry delays and time-outs are wall-clock. */
  readonly clock: Clock;
  readonly logger: Logger;
  readonly configuration: WebhookConfiguration;
  readonly aroundAttempt?: AroundAttempt | undefined;
  readonly hosts?: TunnelHosts;
  readonly lookup?: HostLookup | undefined;
  readonly sockets?: Sockets;
  /** Of one account; default: the value in `assumptions.ts`. */
  readonly attemptsAtOnce?: number;
  /** Called for each change that an attempt makes to a delivery. Must be quick and not throw. */
  readonly onChange?: ((delivery: DeliveryRecord) => void) | undefined;
}

/** Delivers events to their receivers. */
export interface Delivery {
  /** Drops unfinished deliveries of an earlier process. Call it once, before any other. */
  start(): Promise<void>;
  /** Deliveries of these subscriptions may have become due, as by a commit. Never blocks and never throws. */
  wake(subscriptionIds: Iterable<string>): void;
  /** Resolves when each delivery that was due has begun, as far as its account has a place for it. */
  begun(): Promise<void>;
  /** Deliveries, newest first, including pending ones. */
  list(filter: DeliveryFilter): Promise<DeliveryRecord[]>;
  /** How many deliveries match. */
  count(where: Filter<DeliveryValue>): Promise<DeliveryCount>;
  /** One delivery; null for an unknown id. */
  find(id: number): Promise<DeliveryRecord | null>;
  /** The id of the newest delivery; 0 if there is none. */
  lastId(): Promise<number>;
  /** Sends a request to a receiver of a subscription, as its attempts are sent. Resolves with the result. */
  send(subscriptionId: string, url: string, request: ShapedAttempt): Promise<Attempt>;
  /** Resolves when all deliveries are over, except those that are held. Retries still wait for the clock. */
  settle(): Promise<void>;
  /** Ends all attempts, has `clear` empty the tables of webhooks, and starts over. Throws what `clear` throws. */
  reset(clear: () => Promise<void>): Promise<void>;
  /** Ends all attempts, drops what is not over, and closes all connections. */
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

interface Account {
  readonly queue: AccountQueue;
  readonly receivers: Receivers;
}

export function createDelivery(options: DeliveryOptions): Delivery {
  const { database, clock, logger, configuration, hosts = noTunnels } = options;
  const { attemptsAtOnce = ASSUMPTIONS.webhookAttemptsAtOnce.value } = options;
  const connect = connectReceiver({
    hosts,
    lookup: options.lookup ?? lookupHost,
    clock,
    deadlineMs: LIMITS.webhookAttemptTimeoutMs,
    ...(options.sockets === undefined ? {} : { sockets: options.sockets }),
  });
  const accounts = new Map<string, Account>();
  let waiters: (() => void)[] = [];
  let closed = false;

  const isIdle = (): boolean => [...accounts.values()].every(({ queue }) => queue.idle);
  const onIdle = (): void => {
    if (waiters.length === 0 || !isIdle()) return;
    const ready = waiters;
    waiters = [];
    for (const resolve of ready) resolve();
  };

  /** The queue of an account: of a workspace or an OAuth app. */
  const queueOf = (subscriptionId: string): AccountQueue => {
    const known = accounts.get(subscriptionId);
    if (known !== undefined) return known.queue;
    const receivers = new Receivers({ hosts, connect, connections: attemptsAtOnce });
    const queue = new AccountQueue({
      subscriptionId,
      database,
      clock,
      logger,
      attemptsAtOnce,
      around: options.aroundAttempt ?? sendAsSigned,
      receivers,
      destination: () => configuration.destination(subscriptionId),
      onChange: (delivery) => options.onChange?.(delivery),
      onIdle,
    });
    accounts.set(subscriptionId, { queue, receivers });
    return queue;
  };

  const present = (stored: DeliveryRecord): DeliveryRecord =>
    accounts.get(stored.subscriptionId)?.queue.present(stored) ?? stored;

  const stop = async (): Promise<void> => {
    const stopped = [...accounts.values()];
    accounts.clear();
    await Promise.all(stopped.map(({ queue }) => queue.stop()));
    await Promise.all(stopped.map(({ receivers }) => receivers.close()));
    onIdle();
  };

  return {
    async start() {
      const count = await dropPending(database);
      if (count > 0) logger.warn({ count }, 'unfinished events were dropped');
    },
    wake(subscriptionIds) {
      if (!closed) for (const id of subscriptionIds) queueOf(id).wake();
    },
    async begun() {
      await Promise.all([...accounts.values()].map(({ queue }) => queue.begun()));
    },
    list: async (filter) => (await listDeliveries(database, filter)).map(present),
    count: (where) => countDeliveries(database, where),
    async find(id) {
      const stored = await findDelivery(database, id);
      return stored && present(stored);
    },
    lastId: () => lastDeliveryId(database),
    send: (subscriptionId, url, request) =>
      new Promise((resolve) => {
        if (closed) resolve({ at: clock.now(), ms: 0, error: 'stopped' });
        else queueOf(subscriptionId).send(url, request, resolve);
      }),
    settle: () => (isIdle() ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
    async reset(clear) {
      await stop();
      await clear();
      configuration.forget();
    },
    async close() {
      closed = true;
      await stop();
      await dropPending(database).catch((err) => logger.warn({ err }, 'the next start drops what is left'));
    },
  };
}
