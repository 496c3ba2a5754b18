import type { RequestHandler } from 'express';
import type { VirtualTime } from '../../platform/time/virtual-time.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { openEventStream } from '../../runtime/http-server/event-stream.ts';
import { toIso } from '../control/times.ts';
import { type EventHub, toText } from './event-hub.ts';
import { EventWriter } from './event-writer.ts';
import type { LedgerTail } from './ledger-tail.ts';

export interface EventStreamsOptions {
  readonly hub: EventHub;
  readonly tail: LedgerTail;
  readonly time: VirtualTime;
  readonly clock: Clock;
}

export interface EventStreams {
  /** Serves `GET /events`. */
  readonly handle: RequestHandler;
  /** Ends the open streams and those still to come, so that a server can drain. */
  end(): void;
}

/** The data of a `clock` event. */
export function clockEvent(time: VirtualTime): { type: 'clock'; now: string; frozen: boolean } {
  return { type: 'clock', now: toIso(time.now()), frozen: time.frozen };
}

/** Streams what happens to any number of readers. */
export function createEventStreams({ hub, tail, time, clock }: EventStreamsOptions): EventStreams {
  const ending = new AbortController();
  return {
    end: () => ending.abort(),
    async handle(_request, response) {
      const unfollow = await tail.follow();
      const stream = openEventStream(response, { clock, ending: ending.signal });
      const writer = new EventWriter(stream, clock);
      writer.event(toText(clockEvent(time)), null);
      const leave = hub.listen(writer);
      const stop = (): void => {
        leave();
        unfollow();
      };
      if (stream.over.aborted) stop();
      else stream.over.addEventListener('abort', stop, { once: true });
    },
  };
}
