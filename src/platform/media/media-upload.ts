import { createHash } from 'node:crypto';
import { LIMITS } from '../../contract/service/limits.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { Turns } from '../../runtime/turns/turns.ts';
import type { StoredBytes } from './media-file.ts';

/** Size of every piece of a file but its last. */
export const CHUNK_BYTES = 384 * 1024;
const CHUNK_CHARACTERS = (CHUNK_BYTES / 3) * 4;
const PADDING = /={0,2}$/;
/** Many large files at once keep a disk busy, and their clients wait for minutes. */
const CHUNK_DEADLINE_MS = 60_000;

/** A file that comes in as base64, piece by piece. Never more than a chunk of it is in memory. */
export interface MediaUpload {
  /** What is wrong with it so far, for people; null: nothing. Later pieces of a wrong file are ignored. */
  readonly flaw: string | null;
  /** Takes the next characters, any number of them. Resolves when the next ones may come. */
  write(base64: Uint8Array): Promise<void>;
  /** Ends the file. Null when something was wrong with it; `flaw` says what. */
  finish(): Promise<StoredBytes | null>;
}

/** Writes one piece, decoded by Postgres. The commit of the message that the file belongs to flushes it, so its own need not. */
async function insertChunk(db: Queryable, id: string, place: number, base64: string): Promise<void> {
  await db.query(
    `INSERT INTO platform.media_chunks (media_id, place, bytes)
     SELECT $1, $2, decode($3, 'base64') FROM set_config('synchronous_commit', 'off', true)`,
    [id, place, base64],
    { deadlineMs: CHUNK_DEADLINE_MS },
  );
}

/**
 * The bytes that base64 stands for; null for what is none. Node skips what does not belong there and takes the
 * letters of base64url, so the length and those two letters tell. Far faster than a pattern over 16 MB.
 */
function decode(base64: string): Buffer | null {
  const padding = PADDING.exec(base64)?.[0].length ?? 0;
  const bytes = Buffer.from(base64, 'base64');
  const isWhole = base64.length % 4 === 0 && bytes.length === (base64.length / 4) * 3 - padding;
  return isWhole && !base64.includes('-') && !base64.includes('_') ? bytes : null;
}

/**
 * Checks base64 (its alphabet, its padding, at most 16 MB of characters), and stores it as it comes.
 * [media.data] [limits.media] [choice.media.characters]
 */
export function openUpload(db: Queryable, turns: Turns, id: string): MediaUpload {
  const hash = createHash('sha256');
  let chunk = Buffer.alloc(0);
  let filled = 0;
  let flaw: string | null = null;
  let characters = 0;
  let bytes = 0;
  let place = 0;
  let isPadded = false;

  /** Room for `size` characters. Grows with the file: most are small, and some bodies begin many. */
  const makeRoom = (size: number): void => {
    if (size <= chunk.length) return;
    const larger = Buffer.allocUnsafe(Math.min(Math.max(size, 2 * chunk.length), CHUNK_CHARACTERS));
    chunk.copy(larger);
    chunk = larger;
  };

  const store = async (): Promise<void> => {
    const base64 = chunk.toString('latin1', 0, filled);
    filled = 0;
    const decoded = isPadded ? null : decode(base64);
    if (decoded === null) {
      flaw = 'must be base64, with its padding';
      return;
    }
    // Nothing may follow a piece that ends with padding.
    isPadded = base64.endsWith('=');
    hash.update(decoded);
    bytes += decoded.length;
    const at = place++;
    await turns.run(() => insertChunk(db, id, at, base64));
  };

  return {
    get flaw() {
      return flaw;
    },

    async write(base64) {
      characters += base64.length;
      if (characters > LIMITS.mediaBase64Characters) {
        flaw ??= `must have at most ${LIMITS.mediaBase64Characters} characters`;
      }
      for (let at = 0; at < base64.length && flaw === null; ) {
        const taken = base64.subarray(at, at + CHUNK_CHARACTERS - filled);
        makeRoom(filled + taken.length);
        chunk.set(taken, filled);
        filled += taken.length;
        at += taken.length;
        if (filled === CHUNK_CHARACTERS) await store();
      }
    },

    async finish() {
      if (characters === 0) flaw ??= 'must not be empty';
      if (flaw === null && filled > 0) await store();
      return flaw === null ? { id, bytes, sha256: hash.digest() } : null;
    },
  };
}
