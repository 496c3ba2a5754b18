/** A delivery with the mark of one that is held. */
export type Holdable<Delivery> = Delivery & { readonly held?: true };

/**
 * Deliveries that a hand keeps from their next attempt. An attempt under way goes to its end first, so a
 * delivery is held from now on and parked once its next attempt would begin.
 */
export class HeldDeliveries {
  /** By id: what goes on once a parked one is released; null while it has not come to its next attempt. */
  readonly #held = new Map<number, (() => void) | null>();
  #parked = 0;

  /** How many wait for nothing but their release. */
  get parked(): number {
    return this.#parked;
  }

  has(id: number): boolean {
    return this.#held.has(id);
  }

  hold(id: number): void {
    if (!this.#held.has(id)) this.#held.set(id, null);
  }

  /** Keeps `resume` for the release if the delivery is held; says whether it is. */
  park(id: number, resume: () => void): boolean {
    const known = this.#held.get(id);
    if (known === undefined) return false;
    if (known === null) this.#parked += 1;
    this.#held.set(id, resume);
    return true;
  }

  /** Lets a delivery go on; false when it is not held. */
  release(id: number): boolean {
    const resume = this.#held.get(id);
    this.forget(id);
    resume?.();
    return resume !== undefined;
  }

  /** The delivery is over, or nobody holds it any more. */
  forget(id: number): void {
    const known = this.#held.get(id);
    if (known !== undefined && known !== null) this.#parked -= 1;
    this.#held.delete(id);
  }

  clear(): void {
    this.#held.clear();
    this.#parked = 0;
  }
}
