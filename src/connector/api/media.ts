import { pipeline } from 'node:stream/promises';
import { desc, eq, sql } from 'drizzle-orm';
import type { Request, RequestHandler, Response, Router } from 'express';
import type { Clock } from '../../runtime/clock/clock.ts';
import { Deadline, DeadlinePassed } from '../../runtime/clock/deadline.ts';
import { orm } from '../../runtime/database/orm.ts';
import { INERT } from '../../runtime/http-server/safe-headers.ts';
import { strictRouter } from '../../runtime/http-server/strict-router.ts';
import type { Base } from '../db/base.ts';
import type { StoredCopy } from '../db/message-tables.ts';
import { connections, messages } from '../db/schema.ts';
import { type MediaStore, type ReadableFile, StoreFailure } from '../media/media-store.ts';
import { FileUnavailable, LAST_BYTE_WITHIN_MS, type OpenedFile, type OpenFile } from '../media/open-file.ts';
import { fileNameOf, type SafeType, safeTypeOf } from '../media/safe-type.ts';
import { ApiError, notFound, RETRY_AFTER_MS } from './api-error.ts';
import { readId } from './read-input.ts';

/** Each download holds two sockets and some buffers. */
const MAX_CONCURRENT = 32;

export interface MediaOptions extends Base {
  /** Passes only requests that are allowed to read files. */
  readonly allow: RequestHandler;
  readonly openFile: OpenFile;
  /** Where files are kept; null if they are not. */
  readonly mediaStore: MediaStore | null;
  /** Aborts downloads when the process stops. */
  readonly closing: AbortSignal;
}

/** A message with a file. */
interface MessageFile {
  readonly id: string;
  readonly accountId: string;
  readonly mediaUrl: string;
  readonly mediaType: string | null;
  readonly mediaCopy: StoredCopy | null;
}

/** From the request to the first byte of the file, whatever it waits for. */
const FIRST_BYTE_MS = 10_000;

/** Nothing in a file may be executed, framed or cached, wherever it is opened. */
const SAFETY = {
  'Content-Security-Policy': `${INERT}; sandbox`,
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'private, no-store',
} as const;

/** Serves `GET /v1/messages/{id}/media`. */
export function routeMedia(options: MediaOptions): Router {
  const router = strictRouter();
  let fetching = 0;
  router.get('/v1/messages/:id/media', options.allow, async (request, response) => {
    const deadline = new Deadline(options.clock, FIRST_BYTE_MS, { keepAlive: true });
    try {
      const message = await deadline.within(findFile(options, request));
      if (fetching >= MAX_CONCURRENT)
        throw unavailable('Too many files are being downloaded; retry after `Retry-After`.');
      fetching += 1;
      try {
        const kept = await deadline.within(readKept(options, message));
        const asked = { request, response, deadline };
        if (kept !== null && 'url' in kept) sendLink(message, kept.url, asked);
        else await fetchFor(options, message, kept, asked);
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

/** The copy in the store; null if there is none, or if the store does not answer. */
async function readKept(
  { mediaStore, logger }: MediaOptions,
  { id, mediaType, mediaCopy }: MessageFile,
): Promise<ReadableFile | null> {
  if (mediaStore === null || mediaCopy?.state !== 'stored') return null;
  const type = safeTypeOf(mediaType);
  try {
    return await mediaStore.read(mediaCopy.key ?? '', {
      contentType: type.contentType,
      disposition: dispositionOf(id, type),
    });
  } catch (err) {
    if (!(err instanceof StoreFailure)) throw err;
    logger.warn({ err, messageId: id }, 'the store of files failed; the file is fetched from the service');
    return null;
  }
}

/** Sends the reader to the store. The link is signed for this request. */
function sendLink({ mediaCopy }: MessageFile, url: string, { request, response }: Asked): void {
  response.set(SAFETY);
  // The link is valid for GET only.
  if (request.method === 'HEAD') response.set('Content-Length', String(mediaCopy?.size ?? 0)).end();
  else response.status(302).set('Location', url).end();
}

/** A file of the disk, as one that is fetched. */
function openKept({ size, open }: Exclude<ReadableFile, { url: string }>, clock: Clock): OpenedFile {
  const bytes = open();
  // A reader that has stopped reading would keep its place for ever.
  const cancel = clock.after(LAST_BYTE_WITHIN_MS, () => bytes.destroy(), { keepAlive: true });
  const close = (): void => {
    cancel();
    bytes.destroy();
  };
  return { contentType: null, length: size, bytes, close };
}

async function fetchFor(
  { openFile, closing, logger, clock }: MediaOptions,
  message: MessageFile,
  kept: Exclude<ReadableFile, { url: string }> | null,
  { request, response, deadline }: Asked,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const signal = AbortSignal.any([gone.signal, closing]);
  let file: OpenedFile;
  try {
    const { mediaUrl: url, mediaType, accountId } = message;
    const opening =
      kept === null
        ? openFile({ url, mediaType, accountId, signal })
        : Promise.resolve(openKept(kept, clock));
    file = await begin(opening, deadline);
  } catch (error) {
    // What is still being downloaded ends with the response.
    throw error instanceof DeadlinePassed
      ? unavailable('The file did not start to arrive within 10 s.')
      : describeUnavailable(error);
  }
  deadline.done();
  try {
    await serveMedia(response, file, message, request.method === 'HEAD');
  } catch (err) {
    // The reader disconnected, or the response was cut off: nothing more can be reported.
    if (!gone.signal.aborted)
      logger.warn({ err, messageId: message.id }, 'the transfer of a file was interrupted');
  } finally {
    file.close();
  }
}

/**
 * The file once its first byte has arrived. Throws a `DeadlinePassed`, or the reason why the file is not
 * available.
 */
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

/**
 * Sends a file as an attachment. Its bytes are passed on as they arrive, at the speed of the reader. Rejects
 * if they end early, with the response aborted, so that a part is not mistaken for the whole.
 */
async function serveMedia(
  response: Response,
  file: OpenedFile,
  message: { readonly id: string; readonly mediaType: string | null },
  headOnly: boolean,
): Promise<void> {
  const type = safeTypeOf(message.mediaType, file.contentType);
  // Not through express, which would add a charset to the type.
  response.setHeader('Content-Type', type.contentType);
  response.set({
    ...SAFETY,
    'Content-Disposition': dispositionOf(message.id, type),
    ...(file.length === null ? {} : { 'Content-Length': String(file.length) }),
  });
  response.status(200);
  if (headOnly) response.end();
  else await pipeline(file.bytes, response);
}

function dispositionOf(messageId: string, type: SafeType): string {
  return `attachment; filename="${fileNameOf(messageId, type)}"`;
}

async function findFile({ database }: MediaOptions, request: Request): Promise<MessageFile> {
  const id = readId(request.params['id']);
  const [message] = await orm(database)
    .select({
      mediaUrl: messages.mediaUrl,
      mediaType: messages.mediaType,
      mediaCopy: messages.mediaCopy,
      accountId: sql<string>`coalesce(${connections.accountId}, ${messages.accountId})`,
    })
    .from(messages)
    .leftJoin(connections, eq(connections.connectionId, messages.connectionId))
    .where(eq(messages.id, id))
    .orderBy(desc(messages.createdAt))
    .limit(1);
  if (message === undefined) throw notFound('message');
  const { mediaUrl, mediaType } = message;
  if (mediaUrl !== null) return { ...message, id, mediaUrl };
  const why =
    mediaType === null ? 'The message has no file.' : 'The service returned no address for this file.';
  throw new ApiError('no_media', why);
}

function unavailable(message: string): ApiError {
  return new ApiError('unavailable', message, RETRY_AFTER_MS.file);
}

const CODES = {
  refused: 'media_refused',
  redirected: 'media_refused',
  gone: 'media_gone',
  unreachable: 'service_unreachable',
} as const;

function describeUnavailable(error: unknown): unknown {
  if (!(error instanceof FileUnavailable)) return error;
  const { message } = error;
  return new ApiError(CODES[error.kind], `${message.charAt(0).toUpperCase()}${message.slice(1)}.`);
}
