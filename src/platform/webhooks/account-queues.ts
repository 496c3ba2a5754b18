import type { buildConnector } from 'undici';
import { AccountQueue, type QueueOptions } from './account-queue.ts';
import type { Waiting } from './backlog.ts';
import type { WebhookConfiguration } from './configuration.ts';
import { Receivers } from './receivers.ts';
import type { TunnelHosts } from './tunnel-hosts.ts';

export interface AccountQueuesOptions
  extends Omit<QueueOptions, 'receivers' | 'destination' | 'onIdle' | 'onLoadFailure'> {
  readonly configuration: WebhookConfiguration;
  readonly hosts: TunnelHosts;
  readonly connect: buildConnector.connector;
  readonly onLoadFailure: (subscriptionId: string, error: unknown, retry: () => void) => void;
}

/** The queues of all accounts, created on demand. */
export class AccountQueues {
  readonly #options: AccountQueuesOptions;
  readonly #queues = new Map<string, { readonly queue: AccountQueue; readonly receivers: Receivers }>();
  #waiters: (() => void)[] = [];

  constructor(options: AccountQueuesOptions) {
    this.#options = options;
  }

  /** The queue of an account: of a workspace or an OAuth app. */
  of(subscriptionId: string): AccountQueue {
    const known = this.#queues.get(subscriptionId);
    if (known !== undefined) return known.queue;
    const { configuration, hosts, connect, onLoadFailure, ...options } = this.#options;
    const receivers = new Receivers({ hosts, connect, connections: options.limits.attempts });
    const queue = new AccountQueue({
      ...options,
      receivers,
      destination: () => configuration.destination(subscriptionId),
      onLoadFailure: (error, retry) => onLoadFailure(subscriptionId, error, retry),
      onIdle: () => this.#notifyIdle(),
    });
    this.#queues.set(subscriptionId, { queue, receivers });
    return queue;
  }

  /** An open delivery, and its queue. */
  find(id: number): { readonly queue: AccountQueue; readonly delivery: Waiting } | undefined {
    for (const { queue } of this.#queues.values()) {
      const delivery = queue.find(id);
      if (delivery !== undefined) return { queue, delivery };
    }
    return undefined;
  }

  pending(): Waiting[] {
    return [...this.#queues.values()].flatMap(({ queue }) => queue.pending());
  }

  /** True if all queues are idle. */
  get idle(): boolean {
    return [...this.#queues.values()].every(({ queue }) => queue.idle);
  }

  untilIdle(): Promise<void> {
    return this.idle ? Promise.resolve() : new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** Begins as many attempts as the limits allow. */
  pump(): void {
    for (const { queue } of this.#queues.values()) queue.pump();
  }

  /** Ends all attempts and closes all connections. */
  async stop(): Promise<void> {
    const stopped = [...this.#queues.values()];
    this.#queues.clear();
    for (const { queue } of stopped) queue.stop();
    this.#notifyIdle();
    await Promise.all(stopped.map(({ receivers }) => receivers.close()));
  }

  #notifyIdle(): void {
    if (this.#waiters.length === 0 || !this.idle) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const notify of waiters) notify();
  }
}
