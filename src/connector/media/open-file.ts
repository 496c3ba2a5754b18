import type { Readable } from 'node:stream';
import { Client, type Dispatcher } from 'undici';
import type { Clock } from '../../runtime/clock/clock.ts';
import { connectPublic, type Sockets } from '../../runtime/public-network/connect-public.ts';
import { type HostLookup, lookupHost } from '../../runtime/public-network/host-lookup.ts';
import type { OwnService } from './own-service.ts';

/** Largest file that is read: 16 MB, and a little more for services that count otherwise. */
export const LARGEST_FILE_BYTES = 16 * 1024 * 1024 + 64 * 1024;
const CONNECT_WITHIN_MS = 10_000;
const ANSWER_WITHIN_MS = 30_000;
const LAST_BYTE_WITHIN_MS = 120_000;

/**
 * Why a file was not fetched: `refused` (its address, size or answer is not safe), `gone` (it is no longer there),
 * `unreachable` (no answer, or one that says nothing). No message holds the address: whoever knows it has the file.
 */
export class FileUnavailable extends Error {
  override readonly name = 'FileUnavailable';
  readonly kind: 'refused' | 'gone' | 'unreachable';

  constructor(kind: 'refused' | 'gone' | 'unreachable', reason: string, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** A file that is being read. */
export interface OpenedFile {
  /** What the answer calls its type; null: nothing. */
  readonly contentType: string | null;
  /** In bytes, if the answer tells. */
  readonly length: number | null;
  /** The bytes as they come. Throws a `FileUnavailable` when there are too many, or they stop coming. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Lets the connection go. Call it in every case. */
  close(): void;
}

export interface FileOpenerOptions {
  readonly clock: Clock;
  /** The service of an account: files of its messages are read there wherever it is, unless it was on the internet. */
  readonly ownService: (accountId: string) => Promise<OwnService | null>;
  readonly lookup?: HostLookup;
  readonly sockets?: Sockets;
}

export interface OpenFileRequest {
  readonly url: string;
  /** The account whose message names it. The services of others are strangers to it. */
  readonly accountId: string;
  readonly signal: AbortSignal;
  /** Only from the service of the account. */
  readonly ownOnly?: boolean;
}

/** Begins to read a file. Throws a `FileUnavailable`, or what reading the own service throws. */
export type OpenFile = (request: OpenFileRequest) => Promise<OpenedFile>;

/**
 * Fetches files from addresses that others have named: http and https alone, without credentials in the address
 * and with none sent, from public addresses alone, which are checked and pinned at connect. No redirect is
 * followed: what it leads to is another address that somebody named. Bounded in size and time.
 */
export function createFileOpener(options: FileOpenerOptions): OpenFile {
  return async ({ url: text, accountId, signal, ownOnly = false }) => {
    const url = readAddress(text);
    const own = await options.ownService(accountId);
    const isOwn = own?.origin === url.origin;
    if (ownOnly && !isOwn) throw new FileUnavailable('refused', 'the file is not at the service itself');
    const client = openClient(options, url, isOwn && own.network !== 'public');
    const over = new AbortController();
    const stop = AbortSignal.any([signal, over.signal]);
    const end = options.clock.after(LAST_BYTE_WITHIN_MS, () => over.abort(), { keepAlive: true });
    const close = (): void => {
      end();
      over.abort();
      // Whatever is still under way on it was given up.
      client.destroy().catch(() => undefined);
    };
    try {
      const answer = await ask(options.clock, client, url, stop);
      return { ...readHead(answer), bytes: limit(answer.body), close };
    } catch (error) {
      close();
      if (error instanceof FileUnavailable) throw error;
      throw describeFailure(error);
    }
  };
}

function readAddress(text: string): URL {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new FileUnavailable('refused', 'the address of the file is not one of the web');
  }
  if (url.username !== '' || url.password !== '') {
    throw new FileUnavailable('refused', 'the address of the file holds credentials');
  }
  return url;
}

/** A client for one request: nothing is kept open to hosts that somebody else named. */
function openClient({ clock, lookup, sockets }: FileOpenerOptions, url: URL, anywhere: boolean): Client {
  const connect = connectPublic({
    lookup: lookup ?? lookupHost,
    clock,
    deadlineMs: CONNECT_WITHIN_MS,
    ...(anywhere ? { detour: (target) => target } : {}),
    ...(sockets === undefined ? {} : { sockets }),
  });
  // Time is kept by our own clock.
  return new Client(url.origin, {
    connect,
    pipelining: 0,
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

async function ask(
  clock: Clock,
  client: Client,
  url: URL,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  const late = new AbortController();
  const cancel = clock.after(ANSWER_WITHIN_MS, () => late.abort(), { keepAlive: true });
  try {
    return await client.request({
      method: 'GET',
      path: `${url.pathname}${url.search}`,
      headers: { accept: '*/*', 'accept-encoding': 'identity' },
      signal: AbortSignal.any([signal, late.signal]),
    });
  } finally {
    cancel();
  }
}

function readHead({
  statusCode,
  headers,
}: Dispatcher.ResponseData): Pick<OpenedFile, 'contentType' | 'length'> {
  if (statusCode === 404 || statusCode === 410)
    throw new FileUnavailable('gone', 'the file is no longer there');
  if (statusCode >= 300 && statusCode < 400) {
    throw new FileUnavailable('refused', 'the address of the file leads to another one');
  }
  if (statusCode !== 200) throw new FileUnavailable('unreachable', `the file was answered ${statusCode}`);
  const encoding = single(headers['content-encoding']);
  if (encoding !== null && encoding.toLowerCase() !== 'identity') {
    throw new FileUnavailable('refused', 'the file came in an encoding that was not asked for');
  }
  const told = single(headers['content-length']);
  const length = told === null ? null : Number(told);
  if (length !== null && length > LARGEST_FILE_BYTES) throw tooLarge();
  return { contentType: single(headers['content-type']), length };
}

function single(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header[0] : header) ?? null;
}

async function* limit(body: Readable): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      bytes += chunk.byteLength;
      if (bytes > LARGEST_FILE_BYTES) throw tooLarge();
      yield chunk;
    }
  } catch (error) {
    throw error instanceof FileUnavailable ? error : describeFailure(error);
  }
}

function tooLarge(): FileUnavailable {
  return new FileUnavailable('refused', 'the file is larger than 16 MB');
}

function describeFailure(error: unknown): FileUnavailable {
  const code = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  if (code === 'ADDRESS_REFUSED') {
    return new FileUnavailable('refused', 'the address of the file is not on the public internet', error);
  }
  return new FileUnavailable('unreachable', 'the file could not be fetched', error);
}
