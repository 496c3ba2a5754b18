import type { SandboxEndpointName } from '../contract/sandbox/endpoints.ts';
import type { Platform } from '../platform/platform.ts';
import type { Clock } from '../runtime/clock/clock.ts';
import type { Logger } from '../runtime/logger/logger.ts';
import { presentEntry } from './endpoints/delivery-endpoints.ts';
import { changedByCall, changedByEndpoint } from './events/changed-lists.ts';
import { clockEvent, createEventStreams, type EventStreams } from './events/event-streams.ts';
import { LedgerTail } from './events/ledger-tail.ts';
import type { SandboxPorts } from './sandbox-ports.ts';

export interface FollowServiceOptions {
  readonly platform: Platform;
  readonly ports: SandboxPorts;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What the stream of events needs of the sandbox. */
export interface FollowedService {
  readonly streams: EventStreams;
  /** Tells what a call of the control API has changed. */
  served(name: SandboxEndpointName): void;
  /** The service was emptied. */
  reset(): void;
}

/** Calls of the control API after which the time is told. */
const MOVES_CLOCK: readonly SandboxEndpointName[] = ['reset', 'advanceClock', 'freezeClock', 'runClock'];

/** Joins what the service tells through its ports to the stream of events. */
export function followService({ platform, ports, clock, logger }: FollowServiceOptions): FollowedService {
  const { events } = ports;
  const tail = new LedgerTail({
    ledger: platform.ledger,
    clock,
    logger,
    onEntry: (entry) => events.publish(() => ({ type: 'ledger', entry: presentEntry(entry) })),
  });
  ports.onLedger(() => tail.notify());
  ports.calls.onEntry((entry) => {
    events.publish(() => ({ type: 'call', entry }));
    events.changed(...changedByCall(entry));
  });
  return {
    streams: createEventStreams({ hub: events, tail, time: platform.time, clock }),
    served(name) {
      events.changed(...changedByEndpoint(name));
      if (MOVES_CLOCK.includes(name)) events.publish(() => clockEvent(platform.time));
    },
    reset: () => tail.reset(),
  };
}
