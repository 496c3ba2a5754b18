import type { Clock } from '../clock/clock.ts';
import { QueueUnavailable } from './queues.ts';

/**
 * Settles as `work` does, or rejects with `QueueUnavailable` once `ms` have passed. `what` names the work in the
 * message. A late result or failure of `work` goes unheard.
 */
export async function withinDeadline<T>(
  clock: Clock,
  ms: number,
  what: string,
  work: Promise<T>,
): Promise<T> {
  let cancel = (): void => undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    const late = (): void => reject(new QueueUnavailable(`${what}: no answer in ${ms} ms`));
    cancel = clock.after(ms, late, { keepAlive: true });
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    cancel();
  }
}
