import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../runtime/clock/clock.ts';
import { declaresMore } from '../../runtime/http-server/request-body.ts';
import { endedEarly, parseJson, requirePlain } from '../calls/read-body.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { received } from '../kernel/decision-trace.ts';
import { newIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { StoredBytes } from '../media/media-file.ts';
import type { MediaStore } from '../media/media-store.ts';
import type { MediaUpload } from '../media/media-upload.ts';
import { JsonSplitter } from '../media/split-json.ts';

/** Bytes of a too large body that are read and discarded: a client that is still writing would miss the answer. */
const DISCARDED_BYTES = 2 * ASSUMPTIONS.bodyBytes.value.send;

/** The path of the file's data in the body of a send. */
const FILE_PATH = ['media', 'data'];

/** The body of a send, without the data of its file. */
export interface SendBody {
  /** Parsed JSON with `mark` in place of the file's data; undefined without a body. */
  readonly value: unknown;
  /** The placeholder for the extracted data: a random value that a client cannot send. */
  readonly mark: string;
  /** The stored file; null if there is none, or an invalid one. */
  readonly file: StoredBytes | null;
  /** Why the file's data are invalid; null if they are valid or absent. */
  readonly flaw: string | null;
}

interface Reading {
  readonly store: MediaStore;
  /** Ids of all files that were begun, which the caller discards. */
  readonly begun: string[];
  /** The workspace whose limit of uploads applies. */
  readonly workspaceId: string;
  readonly clock: Clock;
}

/**
 * The pieces of a body as they arrive. Throws `invalid_request` if the client is slower than the minimum speed. Only
 * the time that the service waits for the client counts, so a busy service does not end uploads.
 * [choice.upload.pace]
 */
async function* atLeastSpeed(request: IncomingMessage, clock: Clock): AsyncGenerator<Buffer> {
  const { graceMs, minBytesPerSecond } = ASSUMPTIONS.uploadPace.value;
  // A refusal must not destroy the stream, because the answer is sent on the same socket.
  const pieces: AsyncIterator<Buffer> = request.iterator({ destroyOnReturn: false });
  let leftMs = graceMs;
  try {
    for (;;) {
      const next = pieces.next();
      const asked = clock.elapsed();
      const piece = await withinTime(next, leftMs, clock);
      if (piece.done === true) return;
      const earnedMs = (piece.value.length / minBytesPerSecond) * 1_000;
      leftMs = Math.min(graceMs, Math.max(0, leftMs - (clock.elapsed() - asked)) + earnedMs);
      yield piece.value;
    }
  } finally {
    // Not awaited, because it would wait for a slow client.
    pieces.return?.().catch(() => undefined);
  }
}

/** Waits for a piece. Throws `invalid_request` if the client does not send it in time. */
async function withinTime<T>(piece: Promise<T>, ms: number, clock: Clock): Promise<T> {
  // After a timeout, the promise has no other handler.
  piece.catch(() => undefined);
  let cancel = (): void => undefined;
  const over = new Promise<never>((_resolve, reject) => {
    cancel = clock.after(ms, () => {
      reject(new PlatformError('invalid_request', { field: 'body', hint: 'was sent too slowly' }));
    });
  });
  return Promise.race([piece, over]).finally(() => cancel());
}

/** Splits a body: the file is stored as it arrives, the rest is kept for parsing. */
class SendBodyReader {
  readonly mark = newIdentifier();
  readonly #reading: Reading;
  readonly #splitter = new JsonSplitter(FILE_PATH);
  readonly #rest: Buffer[] = [];
  #restBytes = 0;
  #bytes = 0;
  #leave: (() => void) | null = null;
  #upload: MediaUpload | null = null;

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  /** Processes the next piece; discards those of a too large body. */
  async take(chunk: Buffer): Promise<void> {
    this.#bytes += chunk.length;
    if (this.#bytes > DISCARDED_BYTES) throw new PlatformError('payload_too_large');
    if (this.#isTooLarge()) return;
    for (const part of this.#splitter.split(chunk)) {
      if (part.kind === 'rest') this.#keep(part.bytes);
      else if (part.kind === 'begin') await this.#begin();
      else if (part.kind === 'text') await this.#upload?.write(part.bytes);
    }
  }

  async end(): Promise<SendBody> {
    if (this.#isTooLarge()) throw new PlatformError('payload_too_large');
    const bytes = Buffer.concat(this.#rest);
    received(bytes);
    const value = bytes.length === 0 ? undefined : parseJson(bytes);
    const file = (await this.#upload?.finish()) ?? null;
    return { value, mark: this.mark, file, flaw: this.#upload?.flaw ?? null };
  }

  /** Returns the place among the uploads. */
  close(): void {
    this.#leave?.();
    this.#leave = null;
  }

  async #begin(): Promise<void> {
    this.#leave ??= await this.#reading.store.places.enter(this.#reading.workspaceId);
    const id = newIdentifier();
    this.#reading.begun.push(id);
    this.#upload = this.#reading.store.open(id);
    this.#keep(Buffer.from(this.mark));
  }

  // [choice.body.too-large]
  #isTooLarge(): boolean {
    const { send, other } = ASSUMPTIONS.bodyBytes.value;
    return this.#bytes > send || this.#restBytes > other;
  }

  /** Copies the bytes, so that a few bytes do not keep the whole piece in memory. */
  #keep(bytes: Buffer): void {
    this.#restBytes += bytes.length;
    if (!this.#isTooLarge()) this.#rest.push(Buffer.from(bytes));
  }
}

/**
 * Reads the body of a send without holding its file in memory: pieces are stored while the next ones wait in the
 * socket. Throws `payload_too_large` (17 MB in total, 256 KB without the file), or `invalid_request` for bytes that are
 * not JSON in UTF-8. An invalid file is returned as `flaw`, so that the fields are checked in their order.
 */
export async function readSendBody(request: IncomingMessage, reading: Reading): Promise<SendBody> {
  requirePlain(request);
  if (declaresMore(request, DISCARDED_BYTES)) throw new PlatformError('payload_too_large');
  const reader = new SendBodyReader(reading);
  try {
    for await (const chunk of atLeastSpeed(request, reading.clock)) await reader.take(chunk);
    return await reader.end();
  } catch (error) {
    if (request.errored !== null && !(error instanceof PlatformError)) throw endedEarly(error);
    throw error;
  } finally {
    reader.close();
  }
}
