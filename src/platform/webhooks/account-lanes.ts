import type { buildConnector } from 'undici';
import { AccountLane, type LaneOptions } from './account-lane.ts';
import type { Waiting } from './backlog.ts';
import type { WebhookConfiguration } from './configuration.ts';
import { Receivers } from './receivers.ts';
import type { TunnelHosts } from './tunnel-hosts.ts';

export interface AccountLanesOptions
  extends Omit<LaneOptions, 'receivers' | 'destination' | 'onIdle' | 'onLoadFailure'> {
  readonly configuration: WebhookConfiguration;
  readonly hosts: TunnelHosts;
  readonly connect: buildConnector.connector;
  readonly onLoadFailure: (subscriptionId: string, error: unknown, retry: () => void) => void;
}

/** The lanes of all accounts, made as they are needed. */
export class AccountLanes {
  readonly #options: AccountLanesOptions;
  readonly #lanes = new Map<string, { readonly lane: AccountLane; readonly receivers: Receivers }>();
  #waiters: (() => void)[] = [];

  constructor(options: AccountLanesOptions) {
    this.#options = options;
  }

  /** The lane of an account: of a workspace or an OAuth app. */
  of(subscriptionId: string): AccountLane {
    const known = this.#lanes.get(subscriptionId);
    if (known !== undefined) return known.lane;
    const { configuration, hosts, connect, onLoadFailure, ...options } = this.#options;
    const receivers = new Receivers({ hosts, connect, connections: options.limits.attempts });
    const lane = new AccountLane({
      ...options,
      receivers,
      destination: () => configuration.destination(subscriptionId),
      onLoadFailure: (error, retry) => onLoadFailure(subscriptionId, error, retry),
      onIdle: () => this.#tellIdle(),
    });
    this.#lanes.set(subscriptionId, { lane, receivers });
    return lane;
  }

  /** A delivery that is not over, and its lane. */
  find(id: number): { readonly lane: AccountLane; readonly delivery: Waiting } | undefined {
    for (const { lane } of this.#lanes.values()) {
      const delivery = lane.find(id);
      if (delivery !== undefined) return { lane, delivery };
    }
    return undefined;
  }

  pending(): Waiting[] {
    return [...this.#lanes.values()].flatMap(({ lane }) => lane.pending());
  }

  /** Whether nothing goes on by itself in any of them. */
  get idle(): boolean {
    return [...this.#lanes.values()].every(({ lane }) => lane.idle);
  }

  untilIdle(): Promise<void> {
    return this.idle ? Promise.resolve() : new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** Begins as many attempts as there are places for. */
  pump(): void {
    for (const { lane } of this.#lanes.values()) lane.pump();
  }

  /** Ends everything under way and closes all connections. */
  async stop(): Promise<void> {
    const stopped = [...this.#lanes.values()];
    this.#lanes.clear();
    for (const { lane } of stopped) lane.stop();
    this.#tellIdle();
    await Promise.all(stopped.map(({ receivers }) => receivers.close()));
  }

  #tellIdle(): void {
    if (this.#waiters.length === 0 || !this.idle) return;
    const told = this.#waiters;
    this.#waiters = [];
    for (const tell of told) tell();
  }
}
