import type { Clock } from '../../runtime/clock/clock.ts';

/** A delivery that is kept back. */
export interface KeptDelivery {
  readonly id: number;
  /** Lets its attempt go on. */
  readonly release: () => void;
}

const nothing = (): void => undefined;

/**
 * Deliveries that a fault keeps back, so that later ones arrive before them. They leave once a later event of the
 * account was delivered, at the latest when the time of the first of them is over; then the newest leaves first, and
 * each of the others once the attempt before it has ended. So they arrive in another order even when all are kept back.
 */
export class ReorderPile {
  readonly #clock: Clock;
  /** In the order in which they came. */
  #kept: KeptDelivery[] = [];
  /** On their way out, the next one at the end. */
  #leaving: KeptDelivery[] = [];
  /** Whose attempt those on their way out wait for. */
  #ahead: KeptDelivery | null = null;
  #cancelKept = nothing;
  #cancelLeaving = nothing;
  /** How long the first one is kept back, and the last one waits for the others at most. */
  #ms = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Keeps a delivery back for `ms` at most. */
  keep(delivery: KeptDelivery, ms: number): void {
    this.#kept.push(delivery);
    if (this.#kept.length > 1) return;
    this.#ms = ms;
    this.#cancelKept = this.#clock.after(ms, () => this.#letGo(this.#kept));
  }

  /** An event was delivered: it has overtaken those that are kept back and older. */
  delivered(id: number): void {
    const overtaken = this.#kept.filter((delivery) => delivery.id < id);
    if (overtaken.length > 0) this.#letGo(overtaken);
  }

  /** An attempt of a delivery has ended. */
  attempted(id: number): void {
    if (id === this.#ahead?.id) this.#releaseNext();
  }

  /** Forgets a delivery whose attempt was ended. */
  remove(delivery: KeptDelivery): void {
    this.#leaving = this.#leaving.filter((other) => other !== delivery);
    if (this.#leaving.length === 0) this.#cancelLeaving();
    this.#forgetKept([delivery]);
  }

  #forgetKept(deliveries: readonly KeptDelivery[]): void {
    this.#kept = this.#kept.filter((other) => !deliveries.includes(other));
    if (this.#kept.length === 0) this.#cancelKept();
  }

  #letGo(deliveries: readonly KeptDelivery[]): void {
    this.#forgetKept(deliveries);
    this.#releaseRest();
    this.#leaving = [...deliveries];
    // A receiver that answers none of them must not hold the last ones for long.
    this.#cancelLeaving = this.#clock.after(this.#ms, () => this.#releaseRest());
    this.#releaseNext();
  }

  #releaseNext(): void {
    const next = this.#leaving.pop() ?? null;
    this.#ahead = next;
    if (this.#leaving.length === 0) this.#cancelLeaving();
    if (next !== null) next.release();
  }

  #releaseRest(): void {
    this.#cancelLeaving();
    const rest = this.#leaving.reverse();
    this.#leaving = [];
    this.#ahead = null;
    for (const delivery of rest) delivery.release();
  }
}
