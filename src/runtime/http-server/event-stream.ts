import type { ServerResponse } from 'node:http';
import type { Clock } from '../clock/clock.ts';
import { repeat } from '../clock/repeat.ts';

export interface EventStreamOptions {
  readonly clock: Clock;
  /** Ends the stream from the server's side. */
  readonly ending: AbortSignal;
  /** A reader that disconnects before its first event resumes after this one. */
  readonly after?: number;
}

/** Middleboxes drop a silent connection; a comment from time to time keeps it open. */
const HEARTBEAT_MS = 15_000;
/** How soon a reader should reconnect after the stream broke. */
const RETRY_MS = 1_000;
/** A reader that receives nothing for this long is disconnected. */
const STALLED_MS = 60_000;

/** An open response of server-sent events. */
export type EventStream = ReturnType<typeof openEventStream>;

/**
 * Responds with 200 and keeps the response open, with heartbeats, until the reader disconnects or `ending` is
 * aborted.
 */
export function openEventStream(response: ServerResponse, { clock, ending, after }: EventStreamOptions) {
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  response.once('close', leave);
  response.once('error', leave);
  // The reader may have disconnected before the stream was opened.
  if (response.destroyed) leave();
  response.writeHead(200, {
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-cache, no-transform',
    'X-Accel-Buffering': 'no',
  });
  response.write(`retry: ${RETRY_MS}\n${after === undefined ? '' : `id: ${after}\n`}\n`);

  const beats = repeat({
    clock,
    everyMs: HEARTBEAT_MS,
    async run() {
      if (!response.writableNeedDrain) response.write(':\n\n');
    },
    // A response that cannot be written to emits an error, which ends the stream.
    onError: () => undefined,
  });
  beats.start();

  const over = AbortSignal.any([gone.signal, ending]);
  /** Ends the response; further calls do nothing. */
  const end = (): void => {
    void beats.stop();
    response.end();
  };
  if (over.aborted) end();
  else over.addEventListener('abort', end, { once: true });

  return {
    /** Aborted once the reader has disconnected or the stream is ended. */
    over,
    end,
    /**
     * Writes text in the format of events. Returns undefined if more may follow at once; otherwise a promise
     * that resolves when the reader has received enough, or the stream is over. Write nothing before that, so
     * that nothing accumulates.
     */
    write(text: string): Promise<void> | undefined {
      if (over.aborted || response.write(text)) return undefined;
      return untilDrained(response, clock, over);
    },
  };
}

/** Resolves once the reader has received enough for more to be written, or the stream is over. */
function untilDrained(response: ServerResponse, clock: Clock, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const cancelStall = clock.after(STALLED_MS, () => response.destroy());
    const go = (): void => {
      cancelStall();
      response.off('drain', go);
      over.removeEventListener('abort', go);
      resolve();
    };
    response.once('drain', go);
    over.addEventListener('abort', go);
  });
}
