import { backOffMs } from '../clock/back-off.ts';
import type { Clock } from '../clock/clock.ts';
import { repeat } from '../clock/repeat.ts';
import { prefersPrepared } from './database-url.ts';
import { Session } from './session.ts';

export interface ListenerOptions {
  readonly url: string;
  /** `application_name` of its connection. */
  readonly name: string;
  /** A name without double quotes. */
  readonly channel: string;
  readonly clock: Clock;
  /** Called with the payload of each notification. Must not throw. */
  readonly onPayload: (payload: string) => void;
  /** Called with each failure of the connection. The listener reconnects by itself. */
  readonly onError: (error: unknown) => void;
}

const CONNECT_DEADLINE_MS = 5_000;
const PROBE_EVERY_MS = 10_000;
const PROBE_MS = 3_000;
const RETRY = { firstMs: 100, longestMs: 5_000 };

/** Whether LISTEN works: not behind a pooler in transaction mode, where a session does not last as long as its connection. */
export function canListen(url: string): boolean {
  return prefersPrepared(url);
}

/**
 * Receives the notifications of a channel on a separate connection, and reconnects if that connection is lost or does
 * not respond. Notifications that are sent in between are lost.
 */
export function startListener(options: ListenerOptions) {
  const { url, name, channel, clock, onPayload, onError } = options;
  /** Consecutive connections that could not listen. */
  let failures = 0;

  /** Resolves when the connection has ended or the listener is closing. */
  async function listen(closing: AbortSignal): Promise<void> {
    failures += 1;
    const settings = {
      url,
      name,
      prepare: true,
      deadlineMs: PROBE_MS,
      connectDeadlineMs: CONNECT_DEADLINE_MS,
      clock,
    };
    const session = await Session.open({ ...settings, onNotify: onPayload }, closing);
    const ended = new AbortController();
    session.onEnd(() => ended.abort());
    const over = AbortSignal.any([closing, ended.signal]);
    try {
      await session.run(`listen "${channel}"`, []);
      failures = 1;
      while (!over.aborted) {
        await clock.sleep(PROBE_EVERY_MS, over).catch(() => undefined);
        if (!over.aborted) await session.probe(PROBE_MS);
      }
    } finally {
      await session.close();
    }
  }

  let closed = false;
  const hearing = repeat({
    clock,
    everyMs: () => backOffMs(failures, RETRY),
    run: listen,
    onError: (error) => {
      if (!closed) onError(error);
    },
  });
  hearing.start();
  hearing.trigger();
  return {
    async close(): Promise<void> {
      closed = true;
      await hearing.stop();
    },
  };
}
