import type { Request, RequestHandler, Response, Router } from 'express';
import type { Clock } from '../../runtime/clock/clock.ts';
import { Deadline, DeadlinePassed } from '../../runtime/clock/deadline.ts';
import { strictRouter } from '../../runtime/http-server/strict-router.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { OpenedFile, OpenFile } from './open-file.ts';
import { serveMedia } from './serve-media.ts';

/** A message that may have a file. */
export interface MessageFile {
  readonly id: string;
  readonly accountId: string;
  readonly mediaUrl: string;
  readonly mediaType: string | null;
}

export interface MediaRouterOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Lets only those pass who may read files. */
  readonly allow: RequestHandler;
  readonly openFile: OpenFile;
  /** How many files are fetched at once in this process. */
  readonly mostAtOnce: number;
  /** Gives fetches up: the process stops. */
  readonly closing: AbortSignal;
  /** Finds the message that a request is about. Throws what the error handler behind answers. */
  readonly find: (request: Request) => Promise<MessageFile>;
  /** What to throw when too many are fetched or a file does not begin in time, and what a failed fetch is. */
  readonly refusals: {
    readonly tooMany: () => Error;
    readonly late: () => Error;
    readonly unavailable: (error: unknown) => unknown;
  };
}

/** From the request to the first byte of the file, whatever it waits for. */
const FIRST_BYTE_MS = 10_000;

/** Serves `GET /v1/messages/{id}/media`. */
export function createMediaRouter(options: MediaRouterOptions): Router {
  const router = strictRouter();
  let fetching = 0;
  router.get('/v1/messages/:id/media', options.allow, async (request, response) => {
    const deadline = new Deadline(options.clock, FIRST_BYTE_MS, { keepAlive: true });
    try {
      const message = await deadline.within(options.find(request));
      if (fetching >= options.mostAtOnce) throw options.refusals.tooMany();
      fetching += 1;
      try {
        await fetchFor(options, message, { request, response, deadline });
      } finally {
        fetching -= 1;
      }
    } finally {
      deadline.done();
    }
  });
  return router;
}

interface Asked {
  readonly request: Request;
  readonly response: Response;
  readonly deadline: Deadline;
}

async function fetchFor(
  { openFile, closing, refusals, logger }: MediaRouterOptions,
  message: MessageFile,
  { request, response, deadline }: Asked,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const signal = AbortSignal.any([gone.signal, closing]);
  let file: OpenedFile;
  try {
    const { mediaUrl: url, accountId } = message;
    file = await begin(openFile({ url, accountId, signal }), deadline);
  } catch (error) {
    // What is still under way is for nobody.
    gone.abort();
    throw error instanceof DeadlinePassed ? refusals.late() : refusals.unavailable(error);
  }
  deadline.done();
  try {
    await serveMedia(response, file, message, request.method === 'HEAD');
  } catch (err) {
    // The reader left, or the answer was cut off: nothing more can be said.
    if (!gone.signal.aborted) logger.warn({ err, messageId: message.id }, 'a file broke off');
    response.destroy();
  } finally {
    file.close();
  }
}

/** The file once its first byte is there. Throws a `DeadlinePassed`, or why the file cannot be had. */
async function begin(opening: Promise<OpenedFile>, deadline: Deadline): Promise<OpenedFile> {
  let file: OpenedFile;
  try {
    file = await deadline.within(opening);
  } catch (error) {
    opening.then(
      ({ close }) => close(),
      () => undefined,
    );
    throw error;
  }
  const bytes = file.bytes[Symbol.asyncIterator]();
  try {
    const first = await deadline.within(bytes.next());
    return { ...file, bytes: startingWith(first, bytes) };
  } catch (error) {
    file.close();
    throw error;
  }
}

async function* startingWith<T>(first: IteratorResult<T>, rest: AsyncIterator<T>): AsyncGenerator<T> {
  for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
}
