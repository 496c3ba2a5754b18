import type { Clock } from '../../runtime/clock/clock.ts';
import type { ActiveDelivery } from './active-delivery.ts';

interface Options {
  readonly clock: Clock;
  /** Lets the next attempt of a delivery begin. */
  readonly release: (delivery: ActiveDelivery) => void;
}

const nothing = (): void => undefined;

/**
 * Deliveries that a fault keeps back, so that later ones arrive before them. They leave once a later event of the
 * account was delivered, at the latest when the time of the first of them is over; then the newest leaves first, and
 * each of the others once the attempt before it has ended. So they arrive in another order even when all are kept back.
 */
export class ReorderPile {
  readonly #options: Options;
  /** In the order in which they came. */
  #kept: ActiveDelivery[] = [];
  /** On their way out, the next one at the end. */
  #leaving: ActiveDelivery[] = [];
  /** Whose attempt those on their way out wait for. */
  #ahead: ActiveDelivery | null = null;
  #cancelKept = nothing;
  #cancelLeaving = nothing;
  /** How long the first one is kept back, and the last one waits for the others at most. */
  #ms = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Keeps a delivery back for `ms` at most. */
  keep(delivery: ActiveDelivery, ms: number): void {
    delivery.stop = () => this.remove(delivery);
    this.#kept.push(delivery);
    if (this.#kept.length > 1) return;
    this.#ms = ms;
    this.#cancelKept = this.#options.clock.after(ms, () => this.#letGo(this.#kept));
  }

  /** An event was delivered: it has overtaken those that are kept back and older. */
  delivered(id: number): void {
    const overtaken = this.#kept.filter((delivery) => delivery.id < id);
    if (overtaken.length > 0) this.#letGo(overtaken);
  }

  /** An attempt has ended. */
  attempted(delivery: ActiveDelivery): void {
    if (delivery === this.#ahead) this.#releaseNext();
  }

  /** Forgets a delivery that is over. */
  remove(delivery: ActiveDelivery): void {
    this.#leaving = this.#leaving.filter((other) => other !== delivery);
    this.#forgetKept([delivery]);
  }

  /** Forgets all of them. */
  clear(): void {
    this.#cancelKept();
    this.#cancelLeaving();
    this.#kept = [];
    this.#leaving = [];
    this.#ahead = null;
  }

  #forgetKept(deliveries: readonly ActiveDelivery[]): void {
    this.#kept = this.#kept.filter((other) => !deliveries.includes(other));
    if (this.#kept.length === 0) this.#cancelKept();
  }

  #letGo(deliveries: readonly ActiveDelivery[]): void {
    this.#forgetKept(deliveries);
    this.#releaseRest();
    this.#leaving = [...deliveries];
    // A receiver that answers none of them must not hold the last ones for long.
    this.#cancelLeaving = this.#options.clock.after(this.#ms, () => this.#releaseRest());
    this.#releaseNext();
  }

  #releaseNext(): void {
    const next = this.#leaving.pop() ?? null;
    this.#ahead = next;
    if (this.#leaving.length === 0) this.#cancelLeaving();
    if (next !== null) this.#options.release(next);
  }

  #releaseRest(): void {
    this.#cancelLeaving();
    const rest = this.#leaving.reverse();
    this.#leaving = [];
    this.#ahead = null;
    for (const delivery of rest) this.#options.release(delivery);
  }
}
