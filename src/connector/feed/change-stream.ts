import type { ServerResponse } from 'node:http';
import type { Change } from '../../contract/connector/changes.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Feed } from './feed.ts';
import type { ChangeFilter } from './read-changes.ts';

export interface ChangeStreamOptions {
  readonly feed: Pick<Feed, 'subscribe'>;
  readonly clock: Clock;
  /** The last `seq` that the reader has taken. */
  readonly after: number;
  readonly filter: ChangeFilter;
  /** Ends the stream from our side. */
  readonly ending: AbortSignal;
}

/** A silent connection is dropped by middleboxes; a comment now and then keeps it. */
const HEARTBEAT_MS = 15_000;
/** How soon a reader should come back after the stream broke. */
const RETRY_MS = 1_000;
/** A reader that takes nothing for so long is cut off; it resumes with `Last-Event-ID`. */
const STALLED_MS = 60_000;

/**
 * Writes changes as server-sent events until the reader goes or the stream is ended. Each event's id is its
 * `seq`. What a slow reader has not taken is not read from the feed, so it costs one handful of memory.
 */
export async function streamChanges(response: ServerResponse, options: ChangeStreamOptions): Promise<void> {
  const { clock } = options;
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  response.once('close', leave);
  response.once('error', leave);
  response.writeHead(200, {
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-cache, no-transform',
    'X-Accel-Buffering': 'no',
  });
  response.write(`retry: ${RETRY_MS}\n\n`);

  let cancelBeat = (): void => undefined;
  const beat = (): void => {
    cancelBeat = clock.after(HEARTBEAT_MS, () => {
      if (!response.writableNeedDrain) response.write(':\n\n');
      beat();
    });
  };
  beat();

  const over = AbortSignal.any([gone.signal, options.ending]);
  try {
    await options.feed.subscribe(
      options.after,
      (changes) => write(response, changes.map(toEvent).join(''), clock, over),
      over,
      options.filter,
    );
  } finally {
    cancelBeat();
    response.end();
  }
}

function toEvent(change: Change): string {
  return `id: ${change.seq}\ndata: ${JSON.stringify(change)}\n\n`;
}

/** Resolves once the reader has taken enough to write on, or the stream is over. */
function write(
  response: ServerResponse,
  text: string,
  clock: Clock,
  over: AbortSignal,
): Promise<void> | undefined {
  if (response.write(text) || over.aborted) return undefined;
  return new Promise((resolve) => {
    const stalled = clock.after(STALLED_MS, () => response.destroy());
    const go = (): void => {
      stalled();
      response.off('drain', go);
      over.removeEventListener('abort', go);
      resolve();
    };
    response.once('drain', go);
    over.addEventListener('abort', go);
  });
}
