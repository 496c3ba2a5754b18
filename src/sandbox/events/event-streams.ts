import type { Request, Response } from 'express';
import type { VirtualTime } from '../../platform/time/virtual-time.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import { openEventStream } from '../../runtime/http-server/event-stream.ts';
import type { ConnectorTail } from './connector-tail.ts';
import { type EventHub, toText } from './event-hub.ts';
import { EventWriter } from './event-writer.ts';
import type { LedgerTail } from './ledger-tail.ts';

export interface EventStreamsOptions {
  readonly hub: EventHub;
  readonly ledger: LedgerTail;
  /** Null without a connector. */
  readonly connector: ConnectorTail | null;
  readonly time: VirtualTime;
  readonly clock: Clock;
}

/** The data of a `clock` event. */
export function clockEvent(time: VirtualTime): { type: 'clock'; now: string; frozen: boolean } {
  return { type: 'clock', now: toIso(time.now()), frozen: time.frozen };
}

/** Streams events to readers. The ledger and the connector are followed only while there are any. */
export function createEventStreams({ hub, ledger, connector, time, clock }: EventStreamsOptions) {
  const ending = new AbortController();
  return {
    /** Ends the open streams and those still to come, so that a server can drain. */
    end: () => ending.abort(),
    /** Serves `GET /events`. */
    async handle(_request: Request, response: Response): Promise<void> {
      const leaveLedger = await ledger.follow();
      const stream = openEventStream(response, { clock, ending: ending.signal });
      const writer = new EventWriter(stream, clock);
      writer.event(toText(clockEvent(time)), null);
      const leaveHub = hub.listen(writer);
      const leaveConnector = connector?.follow();
      const stop = (): void => {
        leaveHub();
        leaveConnector?.();
        leaveLedger();
      };
      if (stream.over.aborted) stop();
      else stream.over.addEventListener('abort', stop, { once: true });
    },
  };
}
