import type { SandboxEndpointName } from '../contract/sandbox/endpoints.ts';
import type { Platform } from '../platform/platform.ts';
import type { Clock } from '../runtime/clock/clock.ts';
import type { ForwardTarget } from '../runtime/http-server/forward.ts';
import type { Logger } from '../runtime/logger/logger.ts';
import { presentEntry } from './endpoints/delivery-endpoints.ts';
import { changedByCall, changedByEndpoint } from './events/changed-lists.ts';
import { ConnectorTail } from './events/connector-tail.ts';
import { clockEvent, createEventStreams } from './events/event-streams.ts';
import { LedgerTail } from './events/ledger-tail.ts';
import type { SandboxPorts } from './sandbox-ports.ts';

interface FollowServiceOptions {
  readonly platform: Platform;
  readonly ports: SandboxPorts;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The attached connector, if the sandbox has one; null while its address is unknown. */
  readonly connector: (() => ForwardTarget | null) | undefined;
}

/** Calls of the control API that are followed by a `clock` event. */
const MOVES_CLOCK: readonly SandboxEndpointName[] = ['reset', 'advanceClock', 'freezeClock', 'runClock'];

/** Streams what the ports of the service, the attached connector and the sandbox itself report. */
export function followService(options: FollowServiceOptions) {
  const { platform, ports, clock, logger } = options;
  const { events } = ports;
  const connector =
    options.connector === undefined
      ? null
      : new ConnectorTail({
          connector: options.connector,
          clock,
          onChange: (change) => events.publish(() => ({ type: 'change', change })),
          onMissed: () => events.changed('connector'),
        });
  const ledger = new LedgerTail({
    ledger: platform.ledger,
    clock,
    logger,
    onEntry: (entry) => events.publish(() => ({ type: 'ledger', entry: presentEntry(entry) })),
  });
  ports.onLedger(() => ledger.notify());
  ports.calls.onEntry((entry) => {
    events.publish(() => ({ type: 'call', entry }));
    events.changed(...changedByCall(entry));
  });
  return {
    streams: createEventStreams({ hub: events, ledger, connector, time: platform.time, clock }),
    /** A call of the control API succeeded. */
    served(name: SandboxEndpointName): void {
      events.changed(...changedByEndpoint(name));
      if (MOVES_CLOCK.includes(name)) events.publish(() => clockEvent(platform.time));
    },
    /** Reports that the service was reset. */
    reset: () => ledger.reset(),
  };
}
