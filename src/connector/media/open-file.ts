import type { Readable } from 'node:stream';
import { eq } from 'drizzle-orm';
import { Client, type Dispatcher } from 'undici';
import type { Clock } from '../../runtime/clock/clock.ts';
import { abortAfter } from '../../runtime/clock/deadline.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { connectPublic, type Sockets } from '../../runtime/public-network/connect-public.ts';
import { type HostLookup, lookupHost } from '../../runtime/public-network/host-lookup.ts';
import type { Network } from '../../runtime/public-network/public-address.ts';
import { skipInterim } from '../../runtime/public-network/skip-interim.ts';
import { accounts } from '../db/schema.ts';

/** The service of an account, as a source of files. */
export interface OwnService {
  /** Scheme, host and port of its base address. */
  readonly origin: string;
  /**
   * The network that it was on when the account was added; null if the settings configure it, wherever it is.
   */
  readonly network: Network | null;
}

/**
 * The service of an account; null if the account does not exist or never calls a service. Throws what `query`
 * throws.
 */
export async function readOwnService(db: Queryable, accountId: string): Promise<OwnService | null> {
  const { id, baseUrl, network } = accounts;
  const [row] = await orm(db).select({ baseUrl, network }).from(accounts).where(eq(id, accountId));
  const url = row?.baseUrl ?? null;
  return row === undefined || url === null ? null : { origin: new URL(url).origin, network: row.network };
}

/** Maximum size of a file: 16 MB, and a little more for services that count differently. */
export const LARGEST_FILE_BYTES = 16 * 1024 * 1024 + 64 * 1024;
const CONNECT_WITHIN_MS = 10_000;
const ANSWER_WITHIN_MS = 30_000;
export const LAST_BYTE_WITHIN_MS = 120_000;

/**
 * Why a file was not fetched: `refused` (its address, size or response is not safe), `redirected` (to an address that
 * nobody has checked), `gone` (it no longer exists), `unreachable` (no response, or an inconclusive one).
 */
export type Unavailability = 'refused' | 'redirected' | 'gone' | 'unreachable';

/** A file was not fetched. The message never contains its address, because the address grants access to the file. */
export class FileUnavailable extends Error {
  override readonly name = 'FileUnavailable';
  readonly kind: Unavailability;

  constructor(kind: Unavailability, reason: string, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** A file that is being read. */
export interface OpenedFile {
  /** The content type of the response; null if none. */
  readonly contentType: string | null;
  /** In bytes, if the response states it. */
  readonly length: number | null;
  /** The bytes as they arrive. Throws a `FileUnavailable` if there are too many, or if they stop arriving. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Releases the connection. Must always be called. */
  close(): void;
}

export interface FileOpenerOptions {
  readonly clock: Clock;
  /**
   * The service of an account: files of its messages are read there wherever it is, unless it was on the
   * internet.
   */
  readonly ownService: (accountId: string) => Promise<OwnService | null>;
  readonly lookup?: HostLookup;
  readonly sockets?: Sockets;
}

export interface OpenFileRequest {
  readonly url: string;
  /** As the message names it. */
  readonly mediaType?: string | null;
  /** The account of the message. The services of other accounts are not trusted for it. */
  readonly accountId: string;
  readonly signal: AbortSignal;
}

/** Starts reading a file. Throws a `FileUnavailable`, or what reading the account's service throws. */
export type OpenFile = (request: OpenFileRequest) => Promise<OpenedFile>;

/**
 * Fetches files from addresses provided by others: only http and https, without credentials in the address or
 * in the request, and only from public addresses, which are checked and pinned when connecting. Redirects are
 * not followed, because their target is another address provided by others. Limited in size and time.
 */
export function createFileOpener(options: FileOpenerOptions): OpenFile {
  return async ({ url: text, mediaType, accountId, signal }) => {
    const url = readAddress(text);
    const own = await options.ownService(accountId);
    const isOwn = own?.origin === url.origin;
    const client = openClient(options, url, isOwn && own.network !== 'public');
    const over = new AbortController();
    const stop = AbortSignal.any([signal, over.signal]);
    const end = options.clock.after(LAST_BYTE_WITHIN_MS, () => over.abort(), { keepAlive: true });
    const close = (): void => {
      end();
      over.abort();
      // Whatever is still in flight on it was abandoned.
      client.destroy().catch(() => undefined);
    };
    try {
      const answer = await abortAfter(
        options.clock,
        ANSWER_WITHIN_MS,
        (signal) => ask(client, url, signal),
        stop,
      );
      return { ...readHead(answer, mediaType ?? ''), bytes: limit(answer.body), close };
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
    throw new FileUnavailable('refused', 'the address of the file is not an http or https address');
  }
  if (url.username !== '' || url.password !== '') {
    throw new FileUnavailable('refused', 'the address of the file contains credentials');
  }
  return url;
}

/** A client for one request: no connections are kept open to hosts provided by others. */
function openClient({ clock, lookup, sockets }: FileOpenerOptions, url: URL, anywhere: boolean): Client {
  const connect = connectPublic({
    lookup: lookup ?? lookupHost,
    clock,
    deadlineMs: CONNECT_WITHIN_MS,
    ...(anywhere ? { detour: (target) => target } : {}),
    ...(sockets === undefined ? {} : { sockets }),
  });
  // Our own clock keeps the time.
  return new Client(url.origin, {
    connect: skipInterim(connect),
    pipelining: 0,
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

async function ask(client: Client, url: URL, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
  return await client.request({
    method: 'GET',
    path: `${url.pathname}${url.search}`,
    headers: { accept: '*/*', 'accept-encoding': 'identity' },
    signal,
  });
}

/** What proxies send with 200 in place of a picture, a sound or a film. */
const OF_PROXIES = /^(?:text|application)\/(?:html|json|xml)\b/i;

function readHead(
  { statusCode, headers }: Dispatcher.ResponseData,
  mediaType: string,
): Pick<OpenedFile, 'contentType' | 'length'> {
  if (statusCode === 404 || statusCode === 410)
    throw new FileUnavailable('gone', 'the file no longer exists');
  if (statusCode >= 300 && statusCode < 400) {
    throw new FileUnavailable('redirected', 'the address of the file redirects to another one');
  }
  if (statusCode !== 200) throw new FileUnavailable('unreachable', `the file request returned ${statusCode}`);
  const contentType = single(headers['content-type']);
  if (/^(?:image|audio|video)\//i.test(mediaType) && OF_PROXIES.test(contentType ?? ''))
    throw new FileUnavailable('unreachable', 'the file request returned a page');
  const encoding = single(headers['content-encoding']);
  if (encoding !== null && encoding.toLowerCase() !== 'identity') {
    throw new FileUnavailable('refused', 'the file has an encoding that was not requested');
  }
  const declared = single(headers['content-length']);
  const length = declared === null ? null : Number(declared);
  if (length !== null && length > LARGEST_FILE_BYTES) throw tooLarge();
  return { contentType, length };
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
    if (bytes === 0) throw new FileUnavailable('unreachable', 'the file request returned no bytes');
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
