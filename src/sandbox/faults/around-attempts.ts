import type { AroundAttempt, PlannedAttempt } from '../../platform/webhooks/around-attempt.ts';
import { type AttemptResult, isSuccess } from '../../platform/webhooks/send-attempt.ts';
import { type Fault, findFault, type WebhookFaults } from './fault.ts';
import { ReorderBuffer } from './reorder-buffer.ts';
import { shapeAttempt } from './shape-attempt.ts';

/** Longer than the 2 s between the `sent` and `read` events of a message, so that both are reordered together. */
const REORDER_MS = 3_000;

const nothing = (): void => undefined;

/** Applies the faults to an attempt: drops, alters or copies it. The answer to the first copy counts. */
function sendFaulty(attempt: PlannedAttempt, faults: readonly Fault[]): () => void {
  const { envelope, clock, send, record, over } = attempt;
  const marks = faults.length === 0 ? {} : { marks: faults.map(({ type, name = type }) => name) };
  if (findFault(faults, 'drop') !== undefined) {
    record({ at: clock.now(), ms: 0, error: 'dropped', ...marks });
    over({ error: 'dropped' });
    return nothing;
  }
  const duplicate = findFault(faults, 'duplicate');
  const copies = 1 + (duplicate === undefined ? 0 : (duplicate.times ?? 1));
  let open = copies;
  let answer: AttemptResult = {};
  const stops = Array.from({ length: copies }, (_, copy) =>
    send(shapeAttempt(envelope, faults, { secret: envelope.secret, clock }), (sent, result) => {
      record({ ...sent, ...marks });
      if (copy === 0) answer = result;
      open -= 1;
      if (open === 0) over(answer);
    }),
  );
  return () => {
    for (const stop of stops) stop();
  };
}

/** Creates the port around the delivery attempts of a service. `faults` decides on the faults of each attempt. */
export function aroundAttempts(faults: WebhookFaults): AroundAttempt {
  /** By account. */
  const buffers = new Map<string, ReorderBuffer>();

  return (attempt) => {
    const { id, subscriptionId } = attempt.delivery;
    const { clock } = attempt;
    const drawn = faults.decide(attempt.delivery, attempt.number);
    const reorder = findFault(drawn, 'reorder');
    const ms = (findFault(drawn, 'delay')?.ms ?? 0) + (reorder === undefined ? 0 : REORDER_MS);
    let buffer = buffers.get(subscriptionId);
    if (reorder !== undefined && buffer === undefined) {
      buffer = new ReorderBuffer(clock);
      buffers.set(subscriptionId, buffer);
    }
    const watched: PlannedAttempt = {
      ...attempt,
      over(result) {
        buffers.get(subscriptionId)?.attempted(id);
        attempt.over(result);
        if (isSuccess(result)) buffers.get(subscriptionId)?.delivered(id);
      },
    };
    if (ms === 0) return sendFaulty(watched, drawn);

    let stop = nothing;
    const release = (): void => {
      stop = sendFaulty(watched, drawn);
    };
    if (reorder === undefined || buffer === undefined) {
      stop = clock.after(ms, release);
    } else {
      const kept = { id, release };
      buffer.keep(kept, ms);
      stop = () => buffer.remove(kept);
    }
    return () => stop();
  };
}
