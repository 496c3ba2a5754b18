import { and, eq, gt, notExists } from 'drizzle-orm';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { createTurns } from '../../runtime/turns/turns.ts';
import { connections } from '../db/core-tables.ts';
import { media, mediaChunks } from '../db/media-tables.ts';
import { messages } from '../db/message-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { MediaFile } from './media-file.ts';
import { CHUNK_BYTES, type MediaUpload, openUpload } from './media-upload.ts';
import { createUploadPlaces, type UploadPlaces } from './upload-places.ts';

/** Pieces that are written concurrently, so that other work keeps enough database connections. */
const WRITES_AT_ONCE = 4;
const CLEAR_UP_DEADLINE_MS = 60_000;

export interface MediaStore {
  /** Limits concurrent uploads. An upload must enter before its body is read, so that all of them fit into memory. */
  readonly places: UploadPlaces;
  /** Begins a file under a random id. The caller must discard a file that does not become part of a message. */
  open(id: string): MediaUpload;
  /** Deletes the pieces of those files that belong to no message. */
  discard(ids: readonly string[]): Promise<void>;
  /** A file of a message of an existing connection that is not too old to be served; otherwise null. */
  find(id: string): Promise<MediaFile | null>;
  /** The bytes from `start` to `end`, exclusive, piece by piece. Throws if a piece is missing. */
  read(id: string, start: number, end: number): AsyncGenerator<Uint8Array>;
  /** Deletes files that belong to no message, and files too old to be served. Call it before any upload. */
  cleanUp(): Promise<void>;
}

/** Attaches an uploaded file to a message, in the transaction that stores the message. */
export async function keepFile(db: Queryable, file: MediaFile, createdAt: number): Promise<void> {
  const { id, filename, mimetype, bytes, sha256 } = file;
  await orm(db)
    .insert(media)
    .values({ id, filename, mimetype, bytes, sha256, createdAt })
    .onConflictDoNothing({ target: media.id });
}

/** Deletes the bytes of files whose messages are deleted. */
export async function removeBytes(tx: Queryable, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await orm(tx).delete(mediaChunks).where(isAnyOf(mediaChunks.mediaId, ids));
}

/** The earliest time of a message whose file is still served. */
export function oldestServed(now: number): number {
  return now - ASSUMPTIONS.mediaLifetimeMs.value;
}

interface Options {
  readonly database: Database;
  readonly clock: DomainClock;
  /** For the waits of clients, which are in real time. */
  readonly systemClock: Clock;
  readonly logger: Logger;
}

export function createMediaStore({ database, clock, systemClock, logger }: Options): MediaStore {
  const writes = createTurns(WRITES_AT_ONCE);

  return {
    places: createUploadPlaces(systemClock),
    open: (id) => openUpload(database, writes, id),

    async discard(ids) {
      if (ids.length === 0) return;
      const used = orm(database).select().from(media).where(eq(media.id, mediaChunks.mediaId));
      await orm(database)
        .delete(mediaChunks)
        .where(and(isAnyOf(mediaChunks.mediaId, ids), notExists(used)));
    },

    async find(id) {
      const { filename, mimetype, bytes, sha256 } = media;
      const [file] = await orm(database)
        .select({ id: media.id, filename, mimetype, bytes, sha256 })
        .from(media)
        .innerJoin(messages, eq(messages.mediaId, media.id))
        .innerJoin(connections, eq(connections.id, messages.connectionId))
        .where(and(eq(media.id, id), gt(messages.createdAt, oldestServed(clock.now()))))
        .limit(1);
      return file ?? null;
    },

    async *read(id, start, end) {
      for (let at = start; at < end; ) {
        const place = Math.floor(at / CHUNK_BYTES);
        const [chunk] = await orm(database)
          .select({ bytes: mediaChunks.bytes })
          .from(mediaChunks)
          .where(and(eq(mediaChunks.mediaId, id), eq(mediaChunks.place, place)));
        const from = at - place * CHUNK_BYTES;
        const piece = chunk?.bytes.subarray(from, from + end - at);
        if (piece === undefined || piece.length === 0) throw new Error(`piece ${place} of a file is missing`);
        at += piece.length;
        yield piece;
      }
    },

    async cleanUp() {
      try {
        const served = orm(database)
          .select()
          .from(media)
          .where(and(eq(media.id, mediaChunks.mediaId), gt(media.createdAt, oldestServed(clock.now()))));
        await database.transaction((tx) => orm(tx).delete(mediaChunks).where(notExists(served)), {
          deadlineMs: CLEAR_UP_DEADLINE_MS,
        });
      } catch (error) {
        logger.warn({ err: error }, 'unused files could not be deleted');
      }
    },
  };
}
