import { createHash } from 'node:crypto';
import { LIMITS } from '../../contract/service/limits.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { Turns } from '../../runtime/turns/turns.ts';
import type { StoredBytes } from './media-file.ts';

/** Size of every piece of a file but its last. */
export const CHUNK_BYTES = 384 * 1024;
const CHUNK_CHARACTERS = (CHUNK_BYTES / 3) * 4;
const PADDING = /={0,2}$/;
/** Many large files at once can keep a disk busy, and their clients wait for minutes. */
const CHUNK_DEADLINE_MS = 60_000;

/** An upload of a file as base64, in pieces. At most one chunk of it is in memory. */
export interface MediaUpload {
  /** Why the file is invalid, for people; null: no error so far. Later pieces of an invalid file are ignored. */
  readonly flaw: string | null;
  /** Writes the next characters, any number of them. Resolves when more can be written. */
  write(base64: Uint8Array): Promise<void>;
  /** Ends the file. Null if it is invalid; `flaw` gives the reason. */
  finish(): Promise<StoredBytes | null>;
}

/** Writes one piece, which Postgres decodes. Its commit need not flush, because the commit of its message does. */
async function insertChunk(db: Queryable, id: string, place: number, base64: string): Promise<void> {
  await db.query(
    `INSERT INTO platform.media_chunks (media_id, place, bytes)
     SELECT $1, $2, decode($3, 'base64') FROM set_config('synchronous_commit', 'off', true)`,
    [id, place, base64],
    { deadlineMs: CHUNK_DEADLINE_MS },
  );
}

/**
 * Decodes base64; null if it is invalid. Node skips characters outside of the alphabet and accepts the
 * letters of base64url, so the length and those two letters suffice. Far faster than a pattern over 16 MB.
 */
function decode(base64: string): Buffer | null {
  const padding = PADDING.exec(base64)?.[0].length ?? 0;
  const bytes = Buffer.from(base64, 'base64');
  const isWhole = base64.length % 4 === 0 && bytes.length === (base64.length / 4) * 3 - padding;
  return isWhole && !base64.includes('-') && !base64.includes('_') ? bytes : null;
}

/**
 * Validates base64 (alphabet, padding, at most 16 MB of characters) and stores it as it arrives.
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

  /** Grows the buffer to `size` characters. It starts small, because most files are small. */
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
