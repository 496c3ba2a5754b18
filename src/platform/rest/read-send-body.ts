import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../runtime/clock/clock.ts';
import { declaresMore } from '../../runtime/http-server/declares-more.ts';
import { endedEarly, parseJson, requirePlain } from '../calls/read-body.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { newIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { StoredBytes } from '../media/media-file.ts';
import type { MediaStore } from '../media/media-store.ts';
import type { MediaUpload } from '../media/media-upload.ts';
import { JsonSplitter } from '../media/split-json.ts';

/** How much of a body that is too large is read to its end: a client that still writes would miss the answer. */
const DISCARDED_BYTES = 2 * ASSUMPTIONS.bodyBytes.value.send;

/** Where the file is in the body of a send. */
const FILE_PATH = ['media', 'data'];

/** The body of a send, its file apart. */
export interface SendBody {
  /** Parsed JSON. In place of the file's data it has `mark`; undefined without a body. */
  readonly value: unknown;
  /** Stands for the data that were taken out, and cannot have been sent. */
  readonly mark: string;
  /** The file as it is stored; null when there is none, or a wrong one. */
  readonly file: StoredBytes | null;
  /** What is wrong with the file's data; null: nothing, or there are none. */
  readonly flaw: string | null;
}

interface Reading {
  readonly store: MediaStore;
  /** Ids of every file begun, for whoever discards them. */
  readonly begun: string[];
  /** Whose room a file takes. */
  readonly workspaceId: string;
  readonly clock: Clock;
}

/**
 * The pieces of a body as they come. Throws `invalid_request` when the client is slower than the least speed: only the
 * time that the service waits for the client counts, so a busy service ends nobody's upload.
 * [choice.upload.pace]
 */
async function* atLeastSpeed(request: IncomingMessage, clock: Clock): AsyncGenerator<Buffer> {
  const { graceMs, minBytesPerSecond } = ASSUMPTIONS.uploadPace.value;
  // The stream must outlive a refusal in its midst: the answer goes over the same socket.
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
    // Not awaited: where the client is too slow, this would wait for it.
    pieces.return?.().catch(() => undefined);
  }
}

/** What is waited for, or the refusal of a client that does not send it in time. */
async function withinTime<T>(piece: Promise<T>, ms: number, clock: Clock): Promise<T> {
  // Where the time is over first, nobody waits for the piece any more.
  piece.catch(() => undefined);
  let cancel = (): void => undefined;
  const over = new Promise<never>((_resolve, reject) => {
    cancel = clock.after(ms, () => {
      reject(new PlatformError('invalid_request', { field: 'body', hint: 'came too slowly' }));
    });
  });
  return Promise.race([piece, over]).finally(() => cancel());
}

/** Takes the parts of a body apart: the rest is kept to be parsed, the file goes to the store as it comes. */
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

  /** Takes the next piece; those of a body that is too large come to nothing. */
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
    const value = bytes.length === 0 ? undefined : parseJson(bytes);
    const file = (await this.#upload?.finish()) ?? null;
    return { value, mark: this.mark, file, flaw: this.#upload?.flaw ?? null };
  }

  /** Makes room for the next file. */
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

  /** Copied, or a few bytes would keep the whole piece of the request in memory. */
  #keep(bytes: Buffer): void {
    this.#restBytes += bytes.length;
    if (!this.#isTooLarge()) this.#rest.push(Buffer.from(bytes));
  }
}

/**
 * Reads the body of a send without ever holding its file: pieces of it are stored while the next ones wait in
 * the socket. Throws `payload_too_large` (17 MB in all, 256 KB beside the file), or `invalid_request` for bytes
 * that are no JSON in UTF-8. What is wrong with the file alone is told in the answer, for its turn among the fields.
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
