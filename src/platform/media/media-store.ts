import type { Clock } from '../../runtime/clock/clock.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { createTurns } from '../../runtime/turns/turns.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { MediaFile } from './media-file.ts';
import { CHUNK_BYTES, type MediaUpload, openUpload } from './media-upload.ts';
import { createUploadPlaces, type UploadPlaces } from './upload-places.ts';

/** Pieces written to the database at once; the other sessions are left to everyone else. */
const WRITES_AT_ONCE = 4;
const CLEAR_UP_DEADLINE_MS = 60_000;

/** The files of messages. */
export interface MediaStore {
  /** Whoever takes a file from a client waits here for room first, so that all of them fit into memory. */
  readonly places: UploadPlaces;
  /** Begins a file under an unguessable id. One that becomes no message's is to be discarded in the end. */
  open(id: string): MediaUpload;
  /** Removes the pieces of files that no message has; those of others stay. */
  discard(ids: readonly string[]): Promise<void>;
  /** A file that a message of a present connection has, and that is not too old to be served; else null. */
  find(id: string): Promise<MediaFile | null>;
  /** The bytes from `start` up to `end`, which is not included, piece by piece. Throws where one is missing. */
  read(id: string, start: number, end: number): AsyncGenerator<Buffer>;
  /** At start, before any upload: removes what belongs to no message, and what is too old to be served. */
  clearUp(): Promise<void>;
}

/** Makes an uploaded file one of a message, in the statement or transaction that the message comes with. */
export async function keepFile(db: Queryable, file: MediaFile, createdAt: number): Promise<void> {
  const { id, filename, mimetype, bytes, sha256 } = file;
  await db.query(
    `INSERT INTO platform.media (id, filename, mimetype, bytes, sha256, created_at)
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING`,
    [id, filename, mimetype, bytes, sha256, createdAt],
  );
}

/** The earliest time of a message whose file is still served. */
export function oldestServed(now: number): number {
  return now - ASSUMPTIONS.mediaLifetimeMs.value;
}

interface Options {
  readonly database: Queryable;
  readonly clock: DomainClock;
  /** Clients wait on real time. */
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
      await database.query(
        `DELETE FROM platform.media_chunks c WHERE c.media_id = ANY($1::text[])
         AND NOT EXISTS (SELECT 1 FROM platform.media f WHERE f.id = c.media_id)`,
        [ids],
      );
    },

    async find(id) {
      const [file] = await database.query<MediaFile>(
        `SELECT f.id, f.filename, f.mimetype, f.bytes, f.sha256 FROM platform.media f
         JOIN platform.messages m ON m.media_id = f.id
         JOIN platform.connections c ON c.id = m.connection_id
         WHERE f.id = $1 AND m.created_at > $2 LIMIT 1`,
        [id, oldestServed(clock.now())],
      );
      return file ?? null;
    },

    async *read(id, start, end) {
      for (let at = start; at < end; ) {
        const place = Math.floor(at / CHUNK_BYTES);
        const [chunk] = await database.query<{ bytes: Buffer }>(
          'SELECT bytes FROM platform.media_chunks WHERE media_id = $1 AND place = $2',
          [id, place],
        );
        const from = at - place * CHUNK_BYTES;
        const piece = chunk?.bytes.subarray(from, from + end - at);
        if (piece === undefined || piece.length === 0) throw new Error(`piece ${place} of a file is missing`);
        at += piece.length;
        yield piece;
      }
    },

    async clearUp() {
      try {
        await database.query(
          `DELETE FROM platform.media_chunks c WHERE NOT EXISTS (
             SELECT 1 FROM platform.media f WHERE f.id = c.media_id AND f.created_at > $1)`,
          [oldestServed(clock.now())],
          { deadlineMs: CLEAR_UP_DEADLINE_MS },
        );
      } catch (error) {
        logger.warn({ err: error }, 'files that nobody needs any more could not be removed');
      }
    },
  };
}
