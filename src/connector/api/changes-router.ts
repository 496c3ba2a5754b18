import type { ServerResponse } from 'node:http';
import type { Request, RequestHandler, Response, Router } from 'express';
import type { z } from 'zod';
import {
  type Change,
  type ChangeList,
  listChangesQuery,
  streamChangesQuery,
} from '../../contract/connector/changes.ts';
import { CONNECTOR_ERRORS } from '../../contract/connector/errors.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { within } from '../../runtime/clock/deadline.ts';
import { openEventStream } from '../../runtime/http-server/event-stream.ts';
import { strictRouter } from '../../runtime/http-server/strict-router.ts';
import type { Feed } from '../feed/feed.ts';
import type { ChangeFilter, FeedPosition } from '../feed/read-changes.ts';
import { ApiError, RETRY_AFTER_MS } from './api-error.ts';
import { readInput } from './read-input.ts';

export interface ChangesRouterOptions {
  readonly feed: Feed;
  readonly clock: Clock;
  /** Passes only requests that are allowed to use this endpoint. */
  readonly allow: (endpoint: 'listChanges' | 'streamChanges') => RequestHandler;
}

export interface ChangesRouter {
  /** Serves `GET /v1/changes` and `GET /v1/changes/stream`. */
  readonly router: Router;
  /** Ends the open streams and rejects new ones, so that a server can drain. */
  endStreams(): void;
}

/** Maximum number of open streams per process: each holds a socket and reads the feed. */
const MAX_STREAMS = 200;
/** From the request to its response, or to the start of its stream. */
const ANSWER_MS = 8_000;
const TOO_MANY = `The maximum of ${MAX_STREAMS} change streams is open; retry after \`Retry-After\`.`;
const LAST_EVENT_ID = /^\d{1,16}$/;

/** The feed over HTTP. Database errors go to the error handler. */
export function createChangesRouter({ feed, clock, allow }: ChangesRouterOptions): ChangesRouter {
  const ending = new AbortController();
  let streams = 0;
  const inTime = <T>(work: () => Promise<T>): Promise<T> => within(clock, ANSWER_MS, work());

  /** The end of the feed. After a failover, a reader can be beyond it until the numbers have jumped. */
  async function positionFor(after: number | 'latest'): ReturnType<Feed['position']> {
    const position = await feed.position();
    if (after === 'latest' || after <= position.lastSeq) return position;
    await feed.settle();
    return await feed.position();
  }

  const router = strictRouter();

  router.get('/v1/changes', allow('listChanges'), async (request, response) => {
    const query = readQuery(listChangesQuery, request, response);
    if (query === undefined) return;
    const { after, limit, accountId, connectionId } = query;
    const { page, ...position } = await inTime(async () => ({
      page: after === 'latest' ? null : await feed.pageAfter(after ?? 0, limit, { accountId, connectionId }),
      // Read after the page, so that it is never below the end of the page, and tells of what was deleted meanwhile.
      ...(await positionFor(after ?? 0)),
    }));
    const { feedId, lastSeq } = position;
    if (after !== 'latest' && refuseMissing(response, after ?? 0, position, page?.changes[0])) return;
    response.json({
      changes: [...(page?.changes ?? [])],
      nextCursor: String(page?.next ?? lastSeq),
      hasMore: page?.hasMore ?? false,
      feedId,
      lastSeq,
    } satisfies ChangeList);
  });

  router.get('/v1/changes/stream', allow('streamChanges'), async (request, response) => {
    const query = readQuery(streamChangesQuery, request, response);
    if (query === undefined) return;
    const { accountId, connectionId } = query;
    const resumed = request.get('Last-Event-ID');
    if (resumed !== undefined && !LAST_EVENT_ID.test(resumed)) {
      refuse(response, 'Last-Event-ID: must be the `seq` of a change.');
      return;
    }
    const from = resumed === undefined ? (query.after ?? 0) : Number(resumed);
    // A stream without a body would never end.
    if (request.method === 'HEAD') {
      response.type('text/event-stream').end();
      return;
    }
    if (streams >= MAX_STREAMS) throw new ApiError('unavailable', TOO_MANY, RETRY_AFTER_MS.stream);
    streams += 1;
    try {
      const position = await inTime(() => positionFor(from));
      if (from !== 'latest' && refuseMissing(response, from, position)) return;
      const after = from === 'latest' ? position.lastSeq : Math.max(from, position.deletedSeq);
      response.setHeader('Feed-Id', position.feedId);
      const filter = { accountId, connectionId };
      await streamChanges(response, { feed, clock, after, filter, ending: ending.signal });
    } finally {
      streams -= 1;
    }
  });

  return { router, endStreams: () => ending.abort() };
}

interface ChangeStreamOptions {
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
async function streamChanges(response: ServerResponse, options: ChangeStreamOptions): Promise<void> {
  const { feed, after, filter, clock, ending } = options;
  const stream = openEventStream(response, { clock, ending, after });
  try {
    await feed.subscribe(
      after,
      // Without a change that passes the filter, only the id: a reader does not fall behind what is kept.
      (changes, position) =>
        stream.write(changes.length === 0 ? `id: ${position}\n\n` : changes.map(toEvent).join('')),
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

/**
 * Rejects a position that this feed has not reached, where the reader would wait, and skip changes later; and one after
 * which changes were deleted. A reader at the start has no position, and begins with what is kept; unless what it would
 * begin with was deleted while the page was read, so that the page may have a gap. True if the request was rejected and
 * answered.
 */
function refuseMissing(
  response: Response,
  after: number,
  { feedId, lastSeq, deletedSeq }: FeedPosition,
  first?: Change,
): boolean {
  if (after > lastSeq) {
    const message = `This feed ends at ${lastSeq}: ${after} belongs to another feed. Read this feed from the start.`;
    const { status } = CONNECTOR_ERRORS.beyond_feed;
    response.status(status).json({ error: 'beyond_feed', message, feedId, lastSeq });
    return true;
  }
  if (after >= deletedSeq) return false;
  if (after === 0 && (first === undefined || first.seq > deletedSeq)) return false;
  const advice = `List the messages again, then continue with \`after=${deletedSeq}\`.`;
  const message = `Changes after ${after} were deleted; the first that is kept is ${deletedSeq + 1}. ${advice}`;
  const { status } = CONNECTOR_ERRORS.changes_deleted;
  response
    .status(status)
    .json({ error: 'changes_deleted', message, feedId, lastSeq, firstSeq: deletedSeq + 1 });
  return true;
}

/** The validated query; undefined if it was rejected and answered. */
function readQuery<Schema extends z.ZodType>(
  schema: Schema,
  request: Request,
  response: Response,
): z.infer<Schema> | undefined {
  try {
    return readInput(schema, request.query, 'query') as z.infer<Schema>;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    refuse(response, error.message);
    return undefined;
  }
}

function refuse(response: Response, message: string): void {
  response.status(CONNECTOR_ERRORS.invalid_request.status).json({ error: 'invalid_request', message });
}
