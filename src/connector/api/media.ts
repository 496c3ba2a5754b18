import { desc, eq, sql } from 'drizzle-orm';
import type { Request, RequestHandler, Router } from 'express';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { connections, messages } from '../db/schema.ts';
import { createMediaRouter, type MessageFile } from '../media/media-router.ts';
import { FileUnavailable, type OpenFile } from '../media/open-file.ts';
import { ApiError, notFound, RETRY_AFTER_MS } from './api-error.ts';
import { readId } from './read-input.ts';

/** Each download holds two sockets and some buffers. */
const MAX_CONCURRENT = 32;

export interface MediaOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Passes only requests that are allowed to read files. */
  readonly allow: RequestHandler;
  readonly openFile: OpenFile;
  /** Aborts downloads when the process stops. */
  readonly closing: AbortSignal;
}

/** `GET /v1/messages/{id}/media`. */
export function routeMedia({ database, clock, logger, allow, openFile, closing }: MediaOptions): Router {
  return createMediaRouter({
    clock,
    logger,
    allow,
    openFile,
    closing,
    maxConcurrent: MAX_CONCURRENT,
    find: (request) => findFile(database, request),
    refusals: {
      tooMany: () =>
        new ApiError(
          'unavailable',
          'Too many files are being downloaded; retry after `Retry-After`.',
          RETRY_AFTER_MS.file,
        ),
      late: () =>
        new ApiError('unavailable', 'The file did not start to arrive within 10 s.', RETRY_AFTER_MS.file),
      unavailable: describeUnavailable,
    },
  });
}

async function findFile(database: Database, request: Request): Promise<MessageFile> {
  const id = readId(request.params['id']);
  const [message] = await orm(database)
    .select({
      mediaUrl: messages.mediaUrl,
      mediaType: messages.mediaType,
      accountId: sql<string>`coalesce(${connections.accountId}, ${messages.accountId})`,
    })
    .from(messages)
    .leftJoin(connections, eq(connections.connectionId, messages.connectionId))
    .where(eq(messages.id, id))
    .orderBy(desc(messages.createdAt))
    .limit(1);
  if (message === undefined) throw notFound('message');
  const { mediaUrl, mediaType, accountId } = message;
  if (mediaUrl !== null) return { id, accountId, mediaUrl, mediaType };
  const why =
    mediaType === null ? 'The message has no file.' : 'The service returned no address for this file.';
  throw new ApiError('no_media', why);
}

const CODES = { refused: 'media_refused', gone: 'media_gone', unreachable: 'service_unreachable' } as const;

function describeUnavailable(error: unknown): unknown {
  if (!(error instanceof FileUnavailable)) return error;
  const { message } = error;
  return new ApiError(CODES[error.kind], `${message.charAt(0).toUpperCase()}${message.slice(1)}.`);
}
