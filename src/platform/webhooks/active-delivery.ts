import type { SignedBody } from './attempt-slots.ts';
import type { Waiting } from './backlog.ts';
import type { FinishedDelivery } from './delivery-log.ts';
import type { Attempt, DeliveryEnd } from './delivery-record.ts';
import type { RecordedEvent } from './ledger.ts';

/** The part of a delivery that all attempts repeat. `secret` is null if it has the bytes of an earlier attempt. */
export interface Envelope extends SignedBody {
  readonly url: string;
  readonly secret: string | null;
}

/** A delivery between its first attempt and its outcome. */
export interface ActiveDelivery extends Waiting {
  readonly event: RecordedEvent;
  envelope: Envelope | null;
  readonly attempts: Attempt[];
  /** Attempts begun so far. */
  made: number;
  /** Ends the timer or the attempt that the delivery waits for. */
  stop: () => void;
}

const nothing = (): void => undefined;

/** Makes a waiting event an active delivery without attempts. */
export function activate(waiting: Waiting & { readonly event: RecordedEvent }): ActiveDelivery {
  return { ...waiting, envelope: null, attempts: [], made: 0, stop: nothing };
}

/** The row of a finished delivery. */
export function finished(delivery: ActiveDelivery, { outcome, reason }: DeliveryEnd): FinishedDelivery {
  const { envelope } = delivery;
  return {
    id: delivery.id,
    eventId: delivery.eventId,
    subscriptionId: delivery.subscriptionId,
    url: envelope?.url ?? null,
    outcome,
    reason,
    createdAt: delivery.createdAt,
    signedAt: envelope?.timestamp ?? null,
    signature: envelope?.signature ?? null,
    attempts: delivery.attempts,
    variant: delivery.variant ?? null,
  };
}
