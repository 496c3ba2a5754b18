import type { PairingEvent } from '../../contract/connector/pairing.ts';
import type { ReadConnectionDetail } from '../../contract/service/read-answers.ts';
import type { PairingResult } from '../../patterns/pairing-poll.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { endedEvent, watchPairing } from './pairing-watch.ts';

/** How to read one connection, and what to call when the pairing ends. */
export interface WatchedConnection {
  readonly id: string;
  readonly read: (signal: AbortSignal) => Promise<ReadConnectionDetail>;
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
export interface PairingWatches {
  /**
   * Calls `take` with the events of a connection until the returned function is called. All viewers of one
   * connection share one poll, which stops with the last of them. Null if there are too many viewers, or it
   * is closed.
   */
  watch(connection: WatchedConnection, take: TakeEvent): (() => void) | null;
  readonly viewers: number;
  /** Notifies all viewers that this process is stopping, and accepts no new ones. */
  close(): void;
  /** Resolves when nothing is being read. */
  settle(): Promise<void>;
}

interface Watch {
  readonly viewers: Set<TakeEvent>;
  readonly stop: AbortController;
  /** The event that later viewers receive at once. */
  last: PairingEvent | null;
}

export function createPairingWatches(options: PairingWatchesOptions): PairingWatches {
  const { clock, logger, random } = options;
  const watches = new Map<string, Watch>();
  const inFlight = new Set<Promise<void>>();
  let viewers = 0;
  let closed = false;

  function begin(connection: WatchedConnection): Watch {
    const watch: Watch = { viewers: new Set(), stop: new AbortController(), last: null };
    const { read, onEnd } = connection;
    const publish = (event: PairingEvent): void => {
      watch.last = event;
      for (const take of [...watch.viewers]) take(event);
    };
    const forget = (): void => {
      if (watches.get(connection.id) === watch) watches.delete(connection.id);
    };
    const run = watchPairing(
      {
        clock,
        random,
        read,
        publish,
        onEnd: async (result) => {
          // Viewers that join from now on want to know the state from now on.
          forget();
          // The viewers are still notified: a poll will update the mirror.
          await onEnd(result).catch((err: unknown) => {
            logger.error({ err, connectionId: connection.id }, 'the end of a pairing could not be stored');
          });
        },
      },
      watch.stop.signal,
    )
      .catch((err: unknown) => {
        if (watch.stop.signal.aborted) return;
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

  return {
    watch(connection, take) {
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
    get viewers() {
      return viewers;
    },
    close() {
      closed = true;
      for (const watch of watches.values()) {
        watch.stop.abort();
        for (const take of [...watch.viewers]) take(endedEvent('closing'));
      }
      watches.clear();
    },
    async settle() {
      while (inFlight.size > 0) await Promise.all(inFlight);
    },
  };
}
