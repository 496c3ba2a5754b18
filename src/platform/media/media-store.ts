import { createHash } from 'node:crypto';
import { and, eq, gt, notExists, sql } from 'drizzle-orm';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { connections } from '../db/core-tables.ts';
import { media, mediaBytes } from '../db/media-tables.ts';
import { messages } from '../db/message-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { newIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { DomainClock } from '../time/domain-clock.ts';

const PADDING = /={0,2}$/;
/** A search for one character needs no stack, unlike a pattern of 16 MB. */
const FOREIGN = /[^A-Za-z0-9+/=]/;
/** A busy disk may take long for large files. */
const WRITE_DEADLINE_MS = 60_000;

/** A stored file. */
export type MediaFile = Omit<typeof media.$inferSelect, 'createdAt'>;

/** The fields of a message that refer to its file. */
export type MediaReference = Pick<MediaFile, 'id' | 'mimetype'>;

/** A file as base64. */
export interface UploadedFile extends Pick<MediaFile, 'filename' | 'mimetype'> {
  readonly data: string;
}

export interface MediaStore {
  /**
   * Stores a file under a random id. The caller must discard a file that does not become part of a message. Throws
   * `invalid_request` for what is not base64.
   */
  save(file: UploadedFile): Promise<MediaFile>;
  /** Deletes the bytes of a file that belongs to no message. Never rejects: what remains is deleted at the next start. */
  discard(id: string): Promise<void>;
  /** A file of a message of an existing connection that is not too old to be served; otherwise null. */
  find(id: string): Promise<MediaFile | null>;
  /** The bytes of a file. Throws if it has none. */
  read(id: string): Promise<Uint8Array>;
  /** Deletes the bytes of files that belong to no message. Call it before any upload. */
  cleanUp(): Promise<void>;
}

/** Decodes base64; null if it is invalid. Node decodes as far as it can. */
function decode(base64: string): Buffer | null {
  const padding = PADDING.exec(base64)?.[0].length ?? 0;
  const bytes = Buffer.from(base64, 'base64');
  const isWhole = base64.length % 4 === 0 && bytes.length === (base64.length / 4) * 3 - padding;
  return isWhole && !FOREIGN.test(base64) ? bytes : null;
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
  if (ids.length > 0) await orm(tx).delete(mediaBytes).where(isAnyOf(mediaBytes.mediaId, ids));
}

/** The earliest time of a message whose file is still served. */
export function oldestServed(now: number): number {
  return now - ASSUMPTIONS.mediaLifetimeMs.value;
}

interface Options {
  readonly database: Database;
  readonly clock: DomainClock;
  readonly logger: Logger;
}

export function createMediaStore({ database, clock, logger }: Options): MediaStore {
  const isUnused = () =>
    notExists(orm(database).select().from(media).where(eq(media.id, mediaBytes.mediaId)));

  return {
    // [media.data] [limits.media] [choice.media.characters]
    async save({ filename, mimetype, data }) {
      const decoded = decode(data);
      if (decoded === null || decoded.length === 0) {
        throw new PlatformError('invalid_request', {
          field: 'media.data',
          hint: 'must be base64, with its padding',
        });
      }
      const id = newIdentifier();
      await orm(database, WRITE_DEADLINE_MS)
        .insert(mediaBytes)
        .values({ mediaId: id, bytes: sql`decode(${data}, 'base64')` });
      const sha256 = createHash('sha256').update(decoded).digest();
      return { id, filename, mimetype, bytes: decoded.length, sha256 };
    },

    async discard(id) {
      const isIt = eq(mediaBytes.mediaId, id);
      const deleting = orm(database).delete(mediaBytes).where(and(isIt, isUnused()));
      await deleting.catch((err) => logger.warn({ err }, 'unused bytes remain until the next start'));
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

    async read(id) {
      const { bytes } = mediaBytes;
      const [row] = await orm(database).select({ bytes }).from(mediaBytes).where(eq(mediaBytes.mediaId, id));
      if (row === undefined) throw new Error('the bytes of a file are missing');
      return row.bytes;
    },

    async cleanUp() {
      await orm(database, WRITE_DEADLINE_MS).delete(mediaBytes).where(isUnused());
    },
  };
}
