import type { RequestHandler } from 'express';
import type { z } from 'zod';
import { type Change, streamChangesQuery } from '../../contract/connector/changes.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { within } from '../../runtime/clock/deadline.ts';
import { openEventStream } from '../../runtime/http-server/event-stream.ts';
import { strictRouter } from '../../runtime/http-server/strict-router.ts';
import type { Feed } from '../feed/feed.ts';
import type { FeedPosition } from '../feed/read-changes.ts';
import { ApiError, invalid, RETRY_AFTER_MS } from './api-error.ts';
import type { Operation } from './operations.ts';
import { readInput } from './read-input.ts';

export interface ChangesRouterOptions {
  readonly feed: Feed;
  readonly clock: Clock;
  /** Passes only requests that are allowed to use this endpoint. */
  readonly allow: (endpoint: 'streamChanges') => RequestHandler;
}

export type ChangesRouter = ReturnType<typeof createChangesRouter>;

/** Maximum number of open streams per process: each holds a socket and reads the feed. */
const MAX_STREAMS = 200;
/** From the request to the start of its stream. */
const BEGIN_MS = 8_000;
const TOO_MANY = `The maximum of ${MAX_STREAMS} change streams is open; retry after \`Retry-After\`.`;
const LAST_EVENT_ID = /^\d{1,16}$/;

/** The feed over HTTP. Database errors go to the error handler. */
export function createChangesRouter({ feed, clock, allow }: ChangesRouterOptions) {
  const ending = new AbortController();
  let streams = 0;

  /** The end of the feed. After a failover, a reader can be beyond it until the numbers have jumped. */
  async function positionFor(after: number | 'latest'): ReturnType<Feed['position']> {
    const position = await feed.position();
    if (after === 'latest' || after <= position.lastSeq) return position;
    await feed.settle();
    return await feed.position();
  }

  /** `GET /v1/changes`. */
  const listChanges: Operation<'listChanges'> = async ({ query }) => {
    const { after = 0, limit, accountId, connectionId } = query;
    const page = after === 'latest' ? null : await feed.pageAfter(after, limit, { accountId, connectionId });
    // Read after the page, so that it is never below the end of the page, and tells of what was deleted meanwhile.
    const position = await positionFor(after);
    if (after !== 'latest') refuseMissing(after, position, page?.changes[0]);
    const { feedId, lastSeq } = position;
    return {
      changes: [...(page?.changes ?? [])],
      nextCursor: String(page?.next ?? lastSeq),
      hasMore: page?.hasMore ?? false,
      feedId,
      lastSeq,
    };
  };

  const router = strictRouter();
  router.get('/v1/changes/stream', allow('streamChanges'), async (request, response) => {
    const query = readInput(streamChangesQuery, request.query, 'query') as z.infer<typeof streamChangesQuery>;
    const { accountId, connectionId } = query;
    const resumed = request.get('Last-Event-ID');
    if (resumed !== undefined && !LAST_EVENT_ID.test(resumed))
      throw invalid('Last-Event-ID', 'must be the `seq` of a change');
    const from = resumed === undefined ? (query.after ?? 0) : Number(resumed);
    // A stream without a body would never end.
    if (request.method === 'HEAD') {
      response.type('text/event-stream').end();
      return;
    }
    if (streams >= MAX_STREAMS) throw new ApiError('unavailable', TOO_MANY, RETRY_AFTER_MS.stream);
    streams += 1;
    try {
      const position = await within(clock, BEGIN_MS, positionFor(from));
      if (from !== 'latest') refuseMissing(from, position);
      const after = from === 'latest' ? position.lastSeq : Math.max(from, position.deletedSeq);
      response.setHeader('Feed-Id', position.feedId);
      // The id of each event is its `seq`. The feed is not read ahead of a slow reader, so it uses little memory.
      const stream = openEventStream(response, { clock, ending: ending.signal, after });
      try {
        await feed.subscribe(
          after,
          // Without a change that passes the filter, only the id: a reader does not fall behind what is kept.
          (changes, position) =>
            stream.write(changes.length === 0 ? `id: ${position}\n\n` : changes.map(toEvent).join('')),
          stream.over,
          { accountId, connectionId },
        );
      } finally {
        stream.end();
      }
    } finally {
      streams -= 1;
    }
  });

  return {
    /** Serves `GET /v1/changes/stream`. */
    router,
    listChanges,
    /** Ends the open streams and rejects new ones, so that a server can drain. */
    endStreams: (): void => ending.abort(),
  };
}

function toEvent(change: Change): string {
  return `id: ${change.seq}\ndata: ${JSON.stringify(change)}\n\n`;
}

/**
 * Rejects a position that this feed has not reached, where the reader would wait, and skip changes later; and one after
 * which changes were deleted. A reader at the start has no position, and begins with what is kept; unless what it would
 * begin with was deleted while the page was read, so that the page may have a gap.
 */
function refuseMissing(after: number, { feedId, lastSeq, deletedSeq }: FeedPosition, first?: Change): void {
  if (after > lastSeq) {
    const message = `This feed ends at ${lastSeq}: ${after} belongs to another feed. Read this feed from the start.`;
    throw new ApiError('beyond_feed', message, undefined, { feedId, lastSeq });
  }
  if (after >= deletedSeq) return;
  if (after === 0 && (first === undefined || first.seq > deletedSeq)) return;
  const firstSeq = deletedSeq + 1;
  const advice = `List the messages again, then continue with \`after=${deletedSeq}\`.`;
  const message = `Changes after ${after} were deleted; the first that is kept is ${firstSeq}. ${advice}`;
  throw new ApiError('changes_deleted', message, undefined, { feedId, lastSeq, firstSeq });
}
