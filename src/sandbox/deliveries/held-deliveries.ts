import type { MayBegin } from '../../platform/webhooks/account-queue.ts';
import type { DeliveryRecord } from '../../platform/webhooks/delivery-record.ts';

/** A delivery, and whether its next attempt waits until somebody releases it. */
export type HoldableRecord = DeliveryRecord & { readonly held: boolean };

/**
 * Deliveries that a person keeps from their next attempt. An attempt in progress continues to its end, so a held
 * delivery stops only when its next attempt would begin.
 */
export class HeldDeliveries {
  /** By id: continues the delivery; null until its next attempt would have begun. */
  readonly #held = new Map<number, (() => void) | null>();

  /** For the service: no attempt of a held delivery begins. */
  readonly mayBegin: MayBegin = (id, begin) => {
    if (!this.#held.has(id)) return true;
    this.#held.set(id, begin);
    return false;
  };

  hold(id: number): void {
    if (!this.#held.has(id)) this.#held.set(id, null);
  }

  /** Lets a delivery continue; false when it is not held. */
  release(id: number): boolean {
    const begin = this.#held.get(id);
    this.#held.delete(id);
    begin?.();
    return begin !== undefined;
  }

  /** Only a pending delivery can be held. */
  view(record: DeliveryRecord): HoldableRecord {
    return { ...record, held: record.outcome === 'pending' && this.#held.has(record.id) };
  }

  clear(): void {
    this.#held.clear();
  }
}
