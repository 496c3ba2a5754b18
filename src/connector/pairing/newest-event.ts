import type { PairingEvent } from '../../contract/connector/pairing.ts';

/**
 * Holds what a slow viewer has not received yet: only the newest event, because a QR code replaces the
 * previous one.
 */
export interface NewestEvent {
  put(event: PairingEvent): void;
  /** The newest event that has not been received yet; waits for one. Null once `over` is aborted. */
  take(over: AbortSignal): Promise<PairingEvent | null>;
}

export function holdNewestEvent(): NewestEvent {
  let held: PairingEvent | null = null;
  let wake = (): void => undefined;

  return {
    put(event) {
      held = event;
      wake();
    },
    async take(over) {
      while (held === null && !over.aborted) {
        await new Promise<void>((resolve) => {
          wake = () => {
            over.removeEventListener('abort', wake);
            resolve();
          };
          over.addEventListener('abort', wake, { once: true });
        });
      }
      const event = held;
      held = null;
      return over.aborted ? null : event;
    },
  };
}
