import { createHash } from 'node:crypto';
import { LIMITS } from '../../contract/service/limits.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { StoredBytes } from './media-file.ts';
import type { Turns } from './turns.ts';

/** Size of every piece of a file but its last. */
export const CHUNK_BYTES = 384 * 1024;
const CHUNK_CHARACTERS = (CHUNK_BYTES / 3) * 4;

const ALPHABET = /^[A-Za-z0-9+/]*={0,2}$/;
const MAX_PADDING = 2;

/** How many `=` a text ends with; more than there may be are not counted. */
function countPadding(text: string): number {
  let count = 0;
  while (count <= MAX_PADDING && text.at(-1 - count) === '=') count += 1;
  return count;
}

/** A file that comes in as base64, piece by piece. Never more than a chunk of it is in memory. */
export interface MediaUpload {
  /** What is wrong with it so far, for people; null: nothing. Later pieces of a wrong file are ignored. */
  readonly fault: string | null;
  /** Takes the next characters, any number of them. Resolves when the next ones may come. */
  write(base64: string): Promise<void>;
  /** Ends the file. Null when something was wrong with it; `fault` says what. */
  finish(): Promise<StoredBytes | null>;
}

/** Writes one piece. The commit of the message that the file belongs to flushes it, so its own need not. */
async function insertChunk(db: Queryable, id: string, place: number, base64: string): Promise<void> {
  await db.query(
    `INSERT INTO platform.media_chunks (media_id, place, bytes)
     SELECT $1, $2, decode($3, 'base64') FROM set_config('synchronous_commit', 'off', true)`,
    [id, place, base64],
  );
}

/**
 * Checks base64 (its alphabet, its padding, at most 16 MB of characters), and stores it as it comes.
 * Implements `Media object`: `data`.
 */
export function openUpload(db: Queryable, turns: Turns, id: string): MediaUpload {
  const hash = createHash('sha256');
  let fault: string | null = null;
  let characters = 0;
  let padding = 0;
  let bytes = 0;
  let place = 0;
  let pending = '';

  const store = async (base64: string): Promise<void> => {
    const decoded = Buffer.from(base64, 'base64');
    hash.update(decoded);
    bytes += decoded.length;
    const at = place++;
    await turns.run(() => insertChunk(db, id, at, base64));
  };

  const check = (base64: string): string | null => {
    characters += base64.length;
    if (characters > LIMITS.mediaBase64Characters) {
      return `must have at most ${LIMITS.mediaBase64Characters} characters`;
    }
    const padsHere = countPadding(base64);
    const goesOnAfterPadding = padding > 0 && padsHere < base64.length;
    padding += padsHere;
    if (!ALPHABET.test(base64) || goesOnAfterPadding || padding > MAX_PADDING) return 'must be base64';
    return null;
  };

  return {
    get fault() {
      return fault;
    },

    async write(base64) {
      fault ??= check(base64);
      if (fault !== null) return;
      pending += base64;
      while (pending.length >= CHUNK_CHARACTERS) {
        const chunk = pending.slice(0, CHUNK_CHARACTERS);
        pending = pending.slice(CHUNK_CHARACTERS);
        await store(chunk);
      }
    },

    async finish() {
      if (characters === 0) fault ??= 'must not be empty';
      if (characters % 4 !== 0) fault ??= 'must be base64 with its padding';
      if (fault !== null) return null;
      if (pending !== '') await store(pending);
      pending = '';
      return { id, bytes, sha256: hash.digest() };
    },
  };
}
