import ky, { type KyInstance } from 'ky';
import { readErrorBody } from '../../contract/service/errors.ts';
import type { MediaObject, SendMessageRequest } from '../../contract/service/messages.ts';
import { classifyFailure, readHttpDate, readRetryAfter } from '../../patterns/send-policy.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { abortAfter, isLate } from '../../runtime/clock/deadline.ts';
import { AddressRefused } from '../../runtime/public-network/check-host.ts';
import { fetchWithin } from '../../runtime/public-network/fetch-within.ts';
import { keepsSecrets } from '../../runtime/public-network/keeps-secrets.ts';
import { equalSecrets } from '../../runtime/sealing/equal-secrets.ts';
import { ServiceAnswerUnreadable, ServiceRefusal, ServiceUnreachable } from './service-errors.ts';

/** A send whose file is bytes. */
export interface SentMessage extends Omit<SendMessageRequest, 'media'> {
  readonly media?: (Omit<MediaObject, 'data'> & { readonly data: Uint8Array }) | undefined;
}

/** JSON that is made while it is written. */
export interface StreamedBody {
  /** In bytes. */
  readonly length: number;
  /** The JSON from its beginning. */
  open(): ReadableStream<Uint8Array>;
}

/** Divisible by 3, so that only the last piece of base64 is padded. */
const PIECE_BYTES = 3 * 64 * 1024;
const END = '"}}';

/**
 * The body of a send with a file, of which only a piece is encoded at a time: the base64, the JSON and the copies of
 * an HTTP client are six times as large as the file, and they are kept until the answer.
 */
export function streamMessage({ media, ...message }: SentMessage): StreamedBody | undefined {
  if (media === undefined) return undefined;
  const { data, ...about } = media;
  const file = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  // The file comes last.
  const json = JSON.stringify({ ...message, media: { ...about, data: '' } });
  const head = Buffer.from(json.slice(0, -END.length));
  return {
    length: head.length + 4 * Math.ceil(file.length / 3) + END.length,
    open: () => ReadableStream.from(pieces(head, file)),
  };
}

function* pieces(head: Uint8Array, file: Buffer): Generator<Uint8Array> {
  yield head;
  for (let at = 0; at < file.length; at += PIECE_BYTES)
    yield Buffer.from(file.toString('base64', at, at + PIECE_BYTES), 'latin1');
  yield Buffer.from(END);
}

/**
 * `fetch` for the calls to a service. Those of an added account must stay on the network where its service was when
 * the account was added.
 */
export const NETWORK_FETCH = {
  public: fetchWithin('public'),
  private: fetchWithin('private'),
  any: fetchWithin('any'),
} as const;

/** Maximum size of a response: a full page of the longest texts is far smaller. */
const LARGEST_ANSWER_BYTES = 8 * 1024 * 1024;

export interface ServiceCall {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** Relative to `{base_url}`, without a leading slash. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Instead of `body`. */
  readonly stream?: StreamedBody | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly deadlineMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface ServiceAnswer {
  readonly text: string;
  /** The `Date` of the response in epoch milliseconds, whole seconds; null if it has none. */
  readonly date: number | null;
}

export interface ServiceCallerOptions {
  /** `{base_url}`, including the `/api/v1` prefix. */
  readonly baseUrl: string;
  /** The current bearer token. */
  readonly token: () => string | Promise<string>;
  /** Returns another token after a rejected one, or the same. If absent, a rejected token is final. */
  readonly renew?: ((refused: string) => Promise<string>) | undefined;
  /** Called with a token from `renew` that was rejected as well. */
  readonly onRefusedAgain?: ((token: string) => void) | undefined;
  /** Default: `NETWORK_FETCH.any`, wherever the base address leads. */
  readonly fetch?: typeof fetch | undefined;
  readonly clock: Clock;
}

export type ServiceCaller = (call: ServiceCall) => Promise<ServiceAnswer>;

/**
 * Creates the one function for all calls: one attempt, one deadline for connecting and reading, plain http
 * only to this machine, no redirects (they would send the credential elsewhere), and no response larger than
 * 8 MiB. If tokens can be renewed, a 401 is followed by one more attempt with a newer token: a 401 is
 * certain, nothing was executed. Throws `ServiceRefusal`, `ServiceUnreachable`, `ServiceAnswerUnreadable`,
 * and what `token` and `renew` throw.
 */
export function createServiceCaller(options: ServiceCallerOptions): ServiceCaller {
  const http = ky.create({
    prefix: options.baseUrl,
    // The deadline uses the clock port, and retries are up to the caller.
    timeout: false,
    retry: 0,
    redirect: 'manual',
    throwHttpErrors: false,
    fetch: options.fetch ?? NETWORK_FETCH.any,
  });
  return async (call) => {
    if (!keepsSecrets(options.baseUrl)) throw new ServiceUnreachable('insecure');
    const token = await options.token();
    try {
      return await attempt(call, token);
    } catch (error) {
      if (options.renew === undefined || !isUnauthorized(error)) throw error;
      const newer = await options.renew(token); // [oauth.refresh.on-401]
      const isNewer = !equalSecrets(newer, token);
      return await (isNewer ? attempt(call, newer) : Promise.reject(error)).catch((second: unknown) => {
        if (isNewer && isUnauthorized(second)) options.onRefusedAgain?.(newer);
        // Whatever the code of the service says, for an access token it concerns this token only: the account
        // itself is not rejected.
        const isDecided = isUnauthorized(second) && !second.mayHaveActed;
        throw isDecided ? new ServiceRefusal({ status: 401, code: 'invalid_token' }) : second;
      });
    }
  };

  async function attempt(call: ServiceCall, token: string): Promise<ServiceAnswer> {
    const send = async (signal: AbortSignal): Promise<ServiceAnswer> => {
      try {
        return await exchange(http, call, token, signal, options.clock);
      } catch (error) {
        if (error instanceof ServiceRefusal || error instanceof ServiceAnswerUnreadable) throw error;
        if (isLate(signal)) throw new ServiceUnreachable('deadline');
        if (signal.aborted) throw new ServiceUnreachable('aborted', error);
        throw new ServiceUnreachable(isNotSent(error) ? 'connect' : 'network', error);
      }
    };
    return await abortAfter(options.clock, call.deadlineMs, send, call.signal);
  }
}

/** Certain: no byte of the request was sent. */
function isNotSent(error: unknown): boolean {
  // `fetch` and `ky` wrap errors that are thrown while connecting.
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof AddressRefused) return true;
  return classifyFailure(error).kind === 'not_sent';
}

function isUnauthorized(error: unknown): error is ServiceRefusal {
  return error instanceof ServiceRefusal && error.status === 401;
}

async function exchange(
  http: KyInstance,
  call: ServiceCall,
  token: string,
  signal: AbortSignal,
  clock: Clock,
): Promise<ServiceAnswer> {
  const response = await http(call.path, {
    method: call.method,
    headers: {
      ...call.headers,
      ...lengthOf(call.stream),
      accept: 'application/json',
      authorization: `Bearer ${token}`,
    },
    searchParams: call.query ?? {},
    ...(call.body === undefined ? {} : { json: call.body }),
    ...(call.stream === undefined ? {} : { body: call.stream.open() }),
    signal,
  });
  const body = await readAtMost(response, LARGEST_ANSWER_BYTES);
  if (body === null) throw new ServiceAnswerUnreadable('the body is too large');
  const text = new TextDecoder().decode(body);
  if (!response.ok) throw readRefusal(response, parseJson(text), clock.now());
  return { text, date: readHttpDate(response.headers.get('date') ?? '') };
}

/** The length lets the body be streamed without chunks, which some proxies refuse. */
function lengthOf(stream: StreamedBody | undefined): Record<string, string> {
  if (stream === undefined) return {};
  return { 'content-type': 'application/json', 'content-length': `${stream.length}` };
}

function readRefusal(response: Response, body: unknown, now: number): ServiceRefusal {
  const error = readErrorBody(body);
  return new ServiceRefusal({
    status: response.status,
    code: error?.error ?? `http_${response.status}`,
    field: error?.field,
    retryAfterMs: readRetryAfter(response.headers, now),
  });
}

/** The body of a response, null if it is larger than `bytes`: then the rest is not read. */
export async function readAtMost(response: Response, bytes: number): Promise<Buffer<ArrayBuffer> | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > bytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The value of a successful response. Throws `ServiceAnswerUnreadable` if its body is not JSON. */
export function readBody({ text }: ServiceAnswer): unknown {
  const body = parseJson(text);
  if (body === undefined) throw new ServiceAnswerUnreadable('the body is not JSON');
  return body;
}

/** The value, or undefined if the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
