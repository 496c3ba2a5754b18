import type { MayBegin } from '../../platform/webhooks/account-queue.ts';
import type { DeliveryRecord } from '../../platform/webhooks/delivery-record.ts';

/** A delivery, and whether its next attempt waits for a release. */
export type HoldableRecord = DeliveryRecord & { readonly held: boolean };

/**
 * Deliveries whose next attempt is held. An attempt in progress continues.
 */
export class HeldDeliveries {
  /** Functions that continue a delivery, by id; null until its next attempt is due. */
  readonly #held = new Map<number, (() => void) | null>();

  /** The port of the service: no attempt of a held delivery begins. */
  readonly mayBegin: MayBegin = (id, begin) => {
    if (!this.#held.has(id)) return true;
    this.#held.set(id, begin);
    return false;
  };

  hold(id: number): void {
    if (!this.#held.has(id)) this.#held.set(id, null);
  }

  /** Releases a delivery; false if it is not held. */
  release(id: number): boolean {
    const begin = this.#held.get(id);
    this.#held.delete(id);
    begin?.();
    return begin !== undefined;
  }

  /** Whether any delivery is held. */
  get any(): boolean {
    return this.#held.size > 0;
  }

  has(id: number): boolean {
    return this.#held.has(id);
  }

  /** Only a pending delivery can be held. */
  view(record: DeliveryRecord): HoldableRecord {
    return { ...record, held: record.outcome === 'pending' && this.#held.has(record.id) };
  }

  clear(): void {
    this.#held.clear();
  }
}
