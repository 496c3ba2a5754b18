import type { PairingEnd, PairingEvent, PairingWait } from '../../contract/connector/pairing.ts';
import { ERRORS, isErrorCode } from '../../contract/service/errors.ts';
import type { ReadConnectionDetail } from '../../contract/service/read-answers.ts';
import {
  type PairingRead,
  type PairingResult,
  type PairingStep,
  pollPairing,
} from '../../patterns/pairing-poll.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { ServiceError, ServiceRefusal } from '../service-client/service-errors.ts';

/** The time without a pairing after which viewers must open the stream again. */
const LONGEST_MS = 15 * 60_000;

const WAIT_SENTENCES: Readonly<Record<PairingWait, string>> = {
  no_picture: 'The service shows no QR code now; retrying.',
  service_unreachable: 'The service does not respond; retrying.',
  rate_limited: 'The service asked to wait; retrying later.',
};
const END_SENTENCES: Readonly<Record<PairingEnd, string>> = {
  disconnected: 'There is no session to pair: restart the connection, then open this stream again.',
  not_found: 'The connection does not exist at the service.',
  not_supported_for_provider: 'A number of the business platform cannot be paired.',
  refused: 'The service rejected the request for the connection.',
  no_picture:
    'The service has shown no QR code for three minutes: restart the connection, then open this stream again.',
  expired: 'The connection was not paired for a long time; open this stream again to continue.',
  closing: 'This process is stopping; open this stream again.',
};

/** The event that reports the end of a stream. */
export function endedEvent(reason: PairingEnd, code?: string): PairingEvent {
  const why = code === undefined ? '' : ` (${code})`;
  const advice = code !== undefined && isErrorCode(code) ? ` ${ERRORS[code].meaning}` : '';
  return { type: 'ended', reason, message: `${END_SENTENCES[reason]}${why}${advice}` };
}

function toEvent(step: Extract<PairingStep, { next: 'show' | 'wait' }>): PairingEvent {
  if (step.next === 'show') return { type: 'qr', status: step.status, qr: step.qr };
  return { type: 'waiting', reason: step.reason, message: WAIT_SENTENCES[step.reason] };
}

export interface WatchedConnection {
  readonly id: string;
  /** Reads the connection from the service. Throws a `ServiceError`. */
  readonly read: (signal: AbortSignal) => Promise<ReadConnectionDetail>;
  /** Called before the viewers receive the end. */
  readonly onEnd: (result: PairingResult) => Promise<void>;
}

/** Receives each event; an event that it does not keep is lost. */
export type TakeEvent = (event: PairingEvent) => void;

export interface PairingWatchesOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  /** Maximum number of concurrent viewers in this process. */
  readonly maxViewers: number;
}

/** The viewers of connections that are being paired. */
export type PairingWatches = ReturnType<typeof createPairingWatches>;

interface Watch {
  readonly viewers: Set<TakeEvent>;
  readonly stop: AbortController;
  /** The event that later viewers receive at once. */
  last: PairingEvent | null;
}

export function createPairingWatches(options: PairingWatchesOptions) {
  const { clock, logger, random } = options;
  const watches = new Map<string, Watch>();
  const inFlight = new Set<Promise<void>>();
  let viewers = 0;
  let closed = false;

  function begin(connection: WatchedConnection): Watch {
    const stop = new AbortController();
    const watch: Watch = { viewers: new Set(), stop, last: null };
    // Nothing follows `connected` and `ended`.
    const publish = (event: PairingEvent): void => {
      watch.last = event;
      for (const take of [...watch.viewers]) take(event);
    };
    const forget = (): void => {
      if (watches.get(connection.id) === watch) watches.delete(connection.id);
    };
    const run = poll(connection, publish, stop.signal, forget)
      .catch((err: unknown) => {
        if (stop.signal.aborted) return;
        logger.error({ err, connectionId: connection.id }, 'a pairing could not be watched');
        publish(endedEvent('closing'));
      })
      .finally(() => {
        forget();
        inFlight.delete(run);
      });
    inFlight.add(run);
    watches.set(connection.id, watch);
    return watch;
  }

  /**
   * Polls a connection and publishes what there is to see. Resolves after the last event; rejects when `signal`
   * aborts, and with errors that are not failures of the service.
   * [connections.create.client-polls]
   */
  async function poll(
    connection: WatchedConnection,
    publish: TakeEvent,
    signal: AbortSignal,
    forget: () => void,
  ): Promise<void> {
    let refusal: string | undefined;
    const read = async (): Promise<PairingRead> => {
      try {
        return { kind: 'detail', ...(await connection.read(signal)) };
      } catch (error) {
        if (signal.aborted || !(error instanceof ServiceError)) throw error;
        if (!(error instanceof ServiceRefusal)) return { kind: 'lost' };
        refusal = error.code;
        return { kind: 'refused', status: error.status, code: error.code, retryAfterMs: error.retryAfterMs };
      }
    };
    const io = {
      read,
      show: (step: Extract<PairingStep, { next: 'show' | 'wait' }>) => publish(toEvent(step)),
      sleep: (ms: number) => clock.sleep(ms, signal),
      elapsed: () => clock.elapsed(),
      random,
    };
    const result = await pollPairing(io, LONGEST_MS);
    // Viewers that join from now on want to know the state from now on.
    forget();
    // The viewers are still notified: a poll will update the mirror.
    await connection.onEnd(result).catch((err: unknown) => {
      logger.error({ err, connectionId: connection.id }, 'the end of a pairing could not be stored');
    });
    if (result.next === 'connected') publish({ type: 'connected', status: result.status });
    else publish(endedEvent(result.reason, result.reason === 'refused' ? refusal : undefined));
  }

  return {
    /**
     * Calls `take` with the events of a connection until the returned function is called. All viewers of one
     * connection share one poll, which stops with the last of them. Null if there are too many viewers, or it
     * is closed.
     */
    watch(connection: WatchedConnection, take: TakeEvent): (() => void) | null {
      if (closed || viewers >= options.maxViewers) return null;
      const watch = watches.get(connection.id) ?? begin(connection);
      viewers += 1;
      watch.viewers.add(take);
      if (watch.last !== null) take(watch.last);
      let left = false;
      return () => {
        if (left) return;
        left = true;
        viewers -= 1;
        watch.viewers.delete(take);
        if (watch.viewers.size > 0) return;
        watch.stop.abort();
        if (watches.get(connection.id) === watch) watches.delete(connection.id);
      };
    },
    get viewers(): number {
      return viewers;
    },
    /** Notifies all viewers that this process is stopping, and accepts no new ones. */
    close(): void {
      closed = true;
      for (const watch of watches.values()) {
        watch.stop.abort();
        for (const take of [...watch.viewers]) take(endedEvent('closing'));
      }
      watches.clear();
    },
    /** Resolves when nothing is being read. */
    async settle(): Promise<void> {
      while (inFlight.size > 0) await Promise.all(inFlight);
    },
  };
}
