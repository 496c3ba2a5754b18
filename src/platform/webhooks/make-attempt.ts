import type { Clock } from '../../runtime/clock/clock.ts';
import type { ActiveDelivery, Envelope } from './active-delivery.ts';
import { type AttemptSlots, unsentAttempt } from './attempt-slots.ts';
import type { AttemptResult } from './send-attempt.ts';
import type { WebhookFault } from './webhook-faults.ts';

type Fault<Type extends WebhookFault['type']> = Extract<WebhookFault, { type: Type }>;

/** The first fault of a type, if there is one. */
export function findFault<Type extends WebhookFault['type']>(
  faults: readonly WebhookFault[],
  type: Type,
): Fault<Type> | undefined {
  return faults.find((fault): fault is Fault<Type> => fault.type === type);
}

export interface MakeAttemptOptions {
  readonly slots: AttemptSlots;
  readonly clock: Clock;
  /** Called once, when the attempt and all of its copies are over. */
  readonly over: (result: AttemptResult) => void;
}

/**
 * Makes the next attempt of a delivery and writes it down in the delivery. With faults it may stay away or
 * come in copies; the first copy's answer is the attempt's.
 */
export function makeAttempt(
  delivery: ActiveDelivery,
  envelope: Envelope,
  faults: readonly WebhookFault[],
  { slots, clock, over }: MakeAttemptOptions,
): void {
  const names = faults.map((fault) => fault.name);
  delivery.made += 1;
  delivery.faults = null;
  if (findFault(faults, 'drop') !== undefined) {
    delivery.attempts.push(unsentAttempt(clock, 'dropped', names));
    over({ error: 'dropped' });
    return;
  }
  const copies = 1 + (findFault(faults, 'duplicate')?.times ?? 0);
  const stops: (() => void)[] = [];
  let open = copies;
  let answer: AttemptResult = {};
  delivery.stop = () => {
    for (const stop of stops) stop();
  };
  for (let copy = 0; copy < copies; copy += 1) {
    const stop = slots.send(envelope, faults, names, (attempt, result) => {
      delivery.attempts.push(attempt);
      if (copy === 0) answer = result;
      open -= 1;
      if (open === 0) over(answer);
    });
    stops.push(stop);
  }
}
