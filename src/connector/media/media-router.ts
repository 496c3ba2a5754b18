import type { Request, RequestHandler, Response, Router } from 'express';
import { strictRouter } from '../../runtime/http-server/strict-router.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { OpenedFile, OpenFile } from './open-file.ts';
import { serveMedia } from './serve-media.ts';

/** A message that may have a file. */
export interface MessageFile {
  readonly id: string;
  readonly mediaUrl: string;
  readonly mediaType: string | null;
}

export interface MediaRouterOptions {
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
  /** What to throw when too many are fetched, and what a failed fetch is to the caller. */
  readonly refusals: { readonly tooMany: () => Error; readonly unavailable: (error: unknown) => unknown };
}

/** Serves `GET /v1/messages/{id}/media`. */
export function createMediaRouter(options: MediaRouterOptions): Router {
  const router = strictRouter();
  let fetching = 0;
  router.get('/v1/messages/:id/media', options.allow, async (request, response) => {
    const message = await options.find(request);
    if (fetching >= options.mostAtOnce) throw options.refusals.tooMany();
    fetching += 1;
    try {
      await fetchFor(options, message, request, response);
    } finally {
      fetching -= 1;
    }
  });
  return router;
}

async function fetchFor(
  { openFile, closing, refusals, logger }: MediaRouterOptions,
  message: MessageFile,
  request: Request,
  response: Response,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const signal = AbortSignal.any([gone.signal, closing]);
  let file: OpenedFile;
  try {
    file = await openFile({ url: message.mediaUrl, signal });
  } catch (error) {
    throw refusals.unavailable(error);
  }
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
