import type { Clock } from '../../runtime/clock/clock.ts';

/** A delivery that is held back. */
export interface KeptDelivery {
  readonly id: number;
  /** Continues its attempt. */
  readonly release: () => void;
}

const nothing = (): void => undefined;

/**
 * Deliveries that a fault holds back, so that later ones arrive before them. They are released once a later event of
 * the account was delivered, at the latest when the time of the first one ends. Then the newest is released first, and
 * each of the others once the previous attempt has ended. So their order changes even if all are held back.
 */
export class ReorderBuffer {
  readonly #clock: Clock;
  /** In order of arrival. */
  #kept: KeptDelivery[] = [];
  /** Being released, the next one last. */
  #leaving: KeptDelivery[] = [];
  /** The delivery whose attempt must end before the next release. */
  #ahead: KeptDelivery | null = null;
  #cancelKept = nothing;
  #cancelLeaving = nothing;
  /** The maximum time until the first release, and from there to the last. */
  #ms = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Holds a delivery back for at most `ms`. */
  keep(delivery: KeptDelivery, ms: number): void {
    this.#kept.push(delivery);
    if (this.#kept.length > 1) return;
    this.#ms = ms;
    this.#cancelKept = this.#clock.after(ms, () => this.#letGo(this.#kept));
  }

  /** Reports that an event was delivered, which releases older ones. */
  delivered(id: number): void {
    const overtaken = this.#kept.filter((delivery) => delivery.id < id);
    if (overtaken.length > 0) this.#letGo(overtaken);
  }

  /** Reports that an attempt of a delivery has ended. */
  attempted(id: number): void {
    if (id === this.#ahead?.id) this.#releaseNext();
  }

  /** Removes a delivery whose attempt was ended early. */
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
    // Limits the wait for a receiver that does not answer.
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
