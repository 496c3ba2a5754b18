import type { AroundAttempt, PlannedAttempt } from '../../platform/webhooks/around-attempt.ts';
import { type AttemptResult, isSuccess } from '../../platform/webhooks/send-attempt.ts';
import { ReorderBuffer } from './reorder-buffer.ts';
import { shapeAttempt } from './shape-attempt.ts';
import type { WebhookFault, WebhookFaults } from './webhook-faults.ts';

type Fault<Type extends WebhookFault['type']> = Extract<WebhookFault, { type: Type }>;

function findFault<Type extends WebhookFault['type']>(
  faults: readonly WebhookFault[],
  type: Type,
): Fault<Type> | undefined {
  return faults.find((fault): fault is Fault<Type> => fault.type === type);
}

const nothing = (): void => undefined;

/** Applies the faults to an attempt: drops, alters or copies it. The answer to the first copy counts. */
function sendFaulty(attempt: PlannedAttempt, faults: readonly WebhookFault[]): () => void {
  const { envelope, clock, send, record, over } = attempt;
  const marks = faults.length === 0 ? {} : { marks: faults.map(({ name }) => name) };
  if (findFault(faults, 'drop') !== undefined) {
    record({ at: clock.now(), ms: 0, error: 'dropped', ...marks });
    over({ error: 'dropped' });
    return nothing;
  }
  const copies = 1 + (findFault(faults, 'duplicate')?.times ?? 0);
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
    const ms = (findFault(drawn, 'delay')?.ms ?? 0) + (reorder?.ms ?? 0);
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
