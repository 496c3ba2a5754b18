import { createHash } from 'node:crypto';
import { backOffMs } from '../../runtime/clock/back-off.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Base } from '../db/base.ts';
import type { Lease } from '../db/lease.ts';
import {
  connectionOf,
  LONGEST_WAIT_MS,
  noteCopy,
  readDueCopies,
  readWaitingCopy,
  tellCopy,
  type WaitingCopy,
} from '../db/media-copies.ts';
import type { StoredCopy } from '../db/message-tables.ts';
import { createPlans } from '../work/planned.ts';
import { createWorker, type Run, type RunEnd, type Worker, type WorkerOptions } from '../work/worker.ts';
import { keyOf, type MediaStore, ObjectRefused, StoreFailure, type WholeFile } from './media-store.ts';
import { FileUnavailable, type OpenFile } from './open-file.ts';
import { safeTypeOf } from './safe-type.ts';

const MEDIA = 'media';
/**
 * Files in the memory of a process at a time, half of them of one connection: those that the service does not answer
 * leave room for others. More are stored no sooner, and delay the receiver beside them.
 */
const CONCURRENCY = 4;
/** No file is read faster than 2 MB a second: each piece delays the deliveries that the same process receives. */
const BYTES_PER_MS = 2 * 1024;
/** Files that are ahead by less do not wait, so that small ones never do. */
const SHORTEST_WAIT_MS = 10;
/**
 * While the service does not return a file, or the store refuses only this one. After the last attempt, about 12 hours
 * after the first, it has failed.
 */
const RETRY = { firstMs: 5_000, longestMs: LONGEST_WAIT_MS, spread: 0.2 };
const MAX_ATTEMPTS = 20;
/**
 * A proxy that restarts answers 404, redirects, or sends what is refused as well, so such an answer counts once it has
 * been given to four attempts in a row, the last about seven minutes after the first.
 */
const DOUBTED_RETRY = { ...RETRY, firstMs: 60_000 };
const DOUBTED_ATTEMPTS = 4;
/** While the store fails, which uses up no attempts: a process tries it with a few files, and others wait. */
const STORE_RETRY = { firstMs: 5_000, longestMs: 60_000 };

export interface MediaKeeperOptions extends Base, Omit<WorkerOptions, keyof Base> {
  readonly store: MediaStore;
  readonly openFile: OpenFile;
  /** Between 0 and 1; spreads retries. */
  readonly random: () => number;
  /** Called when a change was written. */
  readonly onCommitted: () => void;
}

/** The pieces of a file, in order and unchanged. Rejects with the reason of `signal`, and as the file does. */
export async function* readSlowly(
  pieces: AsyncIterable<Uint8Array>,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const began = clock.elapsed();
  let bytes = 0;
  for await (const piece of pieces) {
    yield piece;
    bytes += piece.byteLength;
    const aheadMs = bytes / BYTES_PER_MS - (clock.elapsed() - began);
    if (aheadMs >= SHORTEST_WAIT_MS) await clock.sleep(aheadMs, signal);
  }
}

/**
 * Fetches the files of stored messages, and removes those of erased people. What is due is in the rows of the messages;
 * the key of the duty is a message. The key of an object is written before the object, and the state after it: a
 * process that takes up the work of a dead one finds what it has stored.
 */
export function createMediaKeeper(options: MediaKeeperOptions): Worker {
  const { database, clock, logger, store, openFile, random, onCommitted } = options;
  let storeFailures = 0;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  const dueAtOf = createPlans(clock, LONGEST_WAIT_MS);
  const isPaused = (): boolean => clock.elapsed() < pausedUntil;

  async function run({ key, lease, lost, stopping, aborting }: Run): Promise<RunEnd> {
    if (isPaused() || stopping.aborted) return 'stopped';
    const file = await readWaitingCopy(database, key);
    if (file === null || dueAtOf(key, file.dueAt ?? 0) > clock.now()) return 'idle';
    const signal = AbortSignal.any([lost, aborting]);
    try {
      if (file.copy.state === 'removing') await remove(lease, file);
      else await keep(lease, file, signal);
      storeFailures = 0;
      return 'idle';
    } catch (error) {
      if (signal.aborted) return 'stopped';
      if (!(error instanceof StoreFailure)) throw error;
      await pause(lease, file, error);
      return 'idle';
    }
  }

  async function keep(lease: Lease, file: WaitingCopy, signal: AbortSignal): Promise<void> {
    const { key: known, sha256, size, ...unstored } = file.copy;
    if (known !== undefined && (await store.sizeOf(known)) === size) {
      await tell(lease, file, { state: 'stored', key: known, sha256, size } as StoredCopy);
      return;
    }
    let fetched: WholeFile;
    try {
      fetched = await fetchFile(file, signal);
    } catch (error) {
      if (!(error instanceof FileUnavailable) || signal.aborted) throw error;
      return await noteFailedAttempt(lease, file, error);
    }
    const key = keyOf(file, fetched.sha256);
    if (known !== undefined && known !== key) await store.remove(known);
    const stored = { key, sha256: fetched.sha256, size: fetched.size };
    const noted = await noteCopy(database, lease, file, { copy: { ...file.copy, ...stored } });
    // Erased meanwhile, or another process has the lease.
    if (!noted) return;
    try {
      await store.put(key, fetched, signal);
    } catch (error) {
      if (!(error instanceof ObjectRefused)) throw error;
      return await noteFailedAttempt(lease, { ...file, copy: unstored }, error);
    }
    await tell(lease, file, { state: 'stored', ...stored });
  }

  async function fetchFile(file: WaitingCopy, signal: AbortSignal): Promise<WholeFile> {
    const { accountId, mediaUrl, mediaType } = file;
    const opened = await openFile({ url: mediaUrl ?? '', mediaType, accountId, signal });
    try {
      const hash = createHash('sha256');
      const pieces: Uint8Array[] = [];
      let size = 0;
      for await (const piece of readSlowly(opened.bytes, clock, signal)) {
        hash.update(piece);
        pieces.push(piece);
        size += piece.byteLength;
      }
      const { contentType } = safeTypeOf(mediaType, opened.contentType);
      return { pieces, size, sha256: hash.digest('hex'), contentType };
    } finally {
      opened.close();
    }
  }

  async function remove(lease: Lease, file: WaitingCopy): Promise<void> {
    if (file.copy.key !== undefined) await store.remove(file.copy.key);
    await noteCopy(database, lease, file, { copy: null });
  }

  async function tell(
    lease: Lease,
    file: WaitingCopy,
    copy: StoredCopy,
    ofUrl: string | null = null,
  ): Promise<void> {
    if (await tellCopy(database, lease, file, { copy, ofUrl }, clock.now())) onCommitted();
  }

  async function noteFailedAttempt(
    lease: Lease,
    file: WaitingCopy,
    error: FileUnavailable | ObjectRefused,
  ): Promise<void> {
    const { copy } = file;
    const attempts = (copy.attempts ?? 0) + 1;
    const { message } = error;
    const kind = error instanceof FileUnavailable ? error.kind : 'unreachable';
    const doubts = kind === 'unreachable' ? 0 : (copy.doubts ?? 0) + 1;
    if (attempts < MAX_ATTEMPTS && doubts < DOUBTED_ATTEMPTS) {
      const waitMs =
        doubts > 0 ? backOffMs(doubts, DOUBTED_RETRY, random()) : backOffMs(attempts, RETRY, random());
      const noted = { ...copy, attempts, doubts, error: message };
      await noteCopy(database, lease, file, { copy: noted, dueAt: clock.now() + waitMs });
      return;
    }
    // What an interrupted attempt may have left of it.
    if (copy.key !== undefined) await store.remove(copy.key);
    const { renewed } = copy;
    const ended = { state: kind === 'gone' ? 'gone' : 'failed', error: message, renewed } as StoredCopy;
    // A poll may have renewed the address meanwhile: it is then fetched from there at once.
    await tell(lease, file, ended, file.mediaUrl);
  }

  async function pause(lease: Lease, file: WaitingCopy, err: StoreFailure): Promise<void> {
    // Files that failed together count once.
    if (!isPaused()) storeFailures += 1;
    if (storeFailures === 1)
      logger.warn({ err }, 'the store of files fails; files wait, and it is tried again');
    pausedUntil = clock.elapsed() + backOffMs(storeFailures, STORE_RETRY);
    // Others come first, in case it is this file that the store refuses.
    const at = clock.now() + STORE_RETRY.longestMs;
    const { copy } = (await readWaitingCopy(database, JSON.stringify([file.connectionId, file.id]))) ?? file;
    await noteCopy(database, lease, file, { copy: { ...copy, error: err.message }, dueAt: at });
  }

  return createWorker(options, {
    kind: MEDIA,
    concurrency: CONCURRENCY,
    groupOf: connectionOf,
    async readDue(now, limit) {
      const found = isPaused() ? [] : await readDueCopies(database, MEDIA, now, limit);
      return found.flatMap(({ key, plannedAt }) => (dueAtOf(key, plannedAt ?? 0) <= now ? key : []));
    },
    async readDueAt(key) {
      const file = await readWaitingCopy(database, key);
      return file === null ? null : dueAtOf(key, file.dueAt ?? 0);
    },
    run,
  });
}
