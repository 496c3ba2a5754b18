import { backOffMs } from '../../runtime/clock/back-off.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { describeFault } from '../../runtime/logger/describe-fault.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { type CallEnd, LONGEST_ASKED_MS, type Unavailable } from './sinks/sink.ts';

export interface OutageOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  readonly consumer: string;
  /** Called when a call may begin again. */
  readonly onDue: () => void;
  /** Called with the error of each try that finds the consumer away, and once with null when a call shows that it is not. */
  readonly onKnown: (error: unknown) => void;
}

const WAIT = { firstMs: 1_000, longestMs: 30_000, spread: 0.2 };

/**
 * Whether a consumer is away as a whole, as this process sees it. While it is, one call at a time tries it. An outage
 * begins with the first call that ends `unavailable`, and ends when a try ends in another way. A gateway answers for a
 * consumer that is away, and for one that a change has broken. It is away once calls of two connections were answered so,
 * and none in another way: these calls have failed, but a try says nothing about its change.
 */
export function createOutage({ clock, logger, random, consumer, onDue, onKnown }: OutageOptions) {
  let failures = 0;
  let state: 'over' | 'waiting' | 'due' | 'trying' = 'over';
  /** Others may have found it away before. */
  let isNoted = true;
  let cancel = (): void => undefined;
  /** The connection of the call that a gateway has answered, if the consumer has answered none since. */
  let suspect: string | undefined;

  function wait({ error, retryAfterMs = 0 }: Omit<Unavailable, 'kind'>): void {
    failures += 1;
    isNoted = true;
    onKnown(error);
    if (failures === 1)
      logger.warn({ consumer, ...describeFault(error) }, 'a consumer is unavailable; its changes wait');
    state = 'waiting';
    const delayMs = Math.max(backOffMs(failures, WAIT, random()), Math.min(retryAfterMs, LONGEST_ASKED_MS));
    cancel = clock.after(delayMs, () => {
      state = 'due';
      onDue();
    });
  }

  return {
    get lasts(): boolean {
      return state !== 'over';
    },
    /** A call may begin now. */
    get allows(): boolean {
      return state === 'over' || state === 'due';
    },
    /** A call begins. True: it tries whether the consumer is back. */
    begin(): boolean {
      if (state !== 'due') return false;
      state = 'trying';
      return true;
    },
    /** A call has ended. Returns how it counts. */
    end(
      end: CallEnd,
      { isTry, connectionId }: { readonly isTry: boolean; readonly connectionId: string },
    ): CallEnd {
      // What began before the outage says nothing new.
      if (state !== 'over' && !isTry) return end;
      const isByGateway = end.kind === 'failed' && end.byGateway === true;
      const isSecond = isByGateway && suspect !== undefined && suspect !== connectionId;
      if (isByGateway) suspect ??= connectionId;
      else if (end.kind !== 'stopped') suspect = undefined;
      if (end.kind === 'unavailable') wait(end);
      else if (isByGateway && (isTry || isSecond)) wait(end);
      else if (isTry && end.kind === 'stopped') state = 'due';
      else if (isTry) {
        failures = 0;
        state = 'over';
        logger.info({ consumer }, 'the consumer is available again');
      }
      if (isNoted && state === 'over' && !isByGateway && end.kind !== 'stopped') {
        isNoted = false;
        onKnown(null);
      }
      return isByGateway && isTry ? { ...end, kind: 'unavailable' } : end;
    },
    close: () => cancel(),
  };
}
