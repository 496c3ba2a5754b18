import type { Clock } from '../../runtime/clock/clock.ts';
import type { MovableClock } from './domain-clock.ts';

/**
 * Waits until `ms` have passed in virtual time, whether it runs or is moved, or on the wall clock, so that frozen time
 * does not block. Rejects with the signal's reason if it aborts. The caller must not hold the gate of time.
 */
export type VirtualWait = (ms: number, signal: AbortSignal) => Promise<void>;

interface Waiter {
  readonly dueAt: number;
  readonly wake: () => void;
}

export function createVirtualWait(clock: MovableClock, systemClock: Clock): VirtualWait {
  const waiters = new Set<Waiter>();

  clock.onMove(() => {
    const now = clock.now();
    for (const waiter of [...waiters]) if (waiter.dueAt <= now) waiter.wake();
  });

  return (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const leave = (): void => {
        cancel();
        waiters.delete(waiter);
        signal.removeEventListener('abort', abort);
      };
      const wake = (): void => {
        leave();
        resolve();
      };
      const abort = (): void => {
        leave();
        reject(signal.reason);
      };
      const cancel = systemClock.after(ms, wake, { keepAlive: true });
      const waiter: Waiter = { dueAt: clock.now() + ms, wake };
      waiters.add(waiter);
      signal.addEventListener('abort', abort, { once: true });
    });
}
