import type { ServerResponse } from 'node:http';
import type { Change } from '../../contract/connector/changes.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { openEventStream } from '../../runtime/http-server/event-stream.ts';
import type { Feed } from './feed.ts';
import type { ChangeFilter } from './read-changes.ts';

export interface ChangeStreamOptions {
  readonly feed: Pick<Feed, 'subscribe'>;
  readonly clock: Clock;
  /** The last `seq` that the reader has received. */
  readonly after: number;
  readonly filter: ChangeFilter;
  /** Ends the stream from the server's side. */
  readonly ending: AbortSignal;
}

/**
 * Writes changes as server-sent events until the reader disconnects or the stream is ended. The id of each
 * event is its `seq`. The feed is not read ahead of a slow reader, so it uses little memory.
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
