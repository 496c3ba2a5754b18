import type { ServerResponse } from 'node:http';
import type { Change } from '../../contract/connector/changes.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { openEventStream } from '../../runtime/http-server/event-stream.ts';
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

/**
 * Writes changes as server-sent events until the reader goes or the stream is ended. Each event's id is its
 * `seq`. What a slow reader has not taken is not read from the feed, so it costs one handful of memory.
 */
export async function streamChanges(response: ServerResponse, options: ChangeStreamOptions): Promise<void> {
  const { feed, after, filter, clock, ending } = options;
  const stream = openEventStream(response, { clock, ending });
  try {
    await feed.subscribe(
      after,
      (changes) => stream.write(changes.map(toEvent).join('')),
      stream.over,
      filter,
    );
  } finally {
    stream.end();
  }
}

function toEvent(change: Change): string {
  return `id: ${change.seq}\ndata: ${JSON.stringify(change)}\n\n`;
}
