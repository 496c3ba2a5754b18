import { type Dispatcher, Pool } from 'undici';
import type { ConsumerBatchRequest, ConsumerRequest } from '../../../contract/connector/consumer-requests.ts';
import { readRetryAfter } from '../../../patterns/send-policy.ts';
import type { Clock } from '../../../runtime/clock/clock.ts';
import { describeError } from '../../../runtime/logger/describe-error.ts';
import { connectPublic, type Sockets } from '../../../runtime/public-network/connect-public.ts';
import { type HostLookup, lookupHost } from '../../../runtime/public-network/host-lookup.ts';
import { isNamedHost, type NamedHosts } from '../../../runtime/public-network/is-named-host.ts';
import { skipInterim } from '../../../runtime/public-network/skip-interim.ts';
import { signRequest } from './sign-request.ts';
import type { CallEnd, Sink, SinkCall } from './sink.ts';

const NOT_HTTPS = 'the address of the consumer does not start with https://';
const CONNECT_WITHIN_MS = 10_000;
const LARGEST_ANSWER_BYTES = 64 * 1024;
/** Characters of an answer in the message of its error: more than are shown, so that a secret at their end is recognized. */
const KEPT_CHARACTERS = 600;
/** Shorter than the time after which common servers close an idle connection: gunicorn does so after 2 s. */
const KEEP_ALIVE_MS = 1_500;

/** What an endpoint answered instead of 2xx, or why there is no answer. Its message never contains the address. */
export class EndpointError extends Error {
  override readonly name = 'EndpointError';
  /** `http_<status>`, or the code of the failed connection. */
  readonly code: string | number | undefined;

  constructor(message: string, code: string | number | undefined, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

export interface HttpSinkOptions {
  readonly url: string;
  readonly secret: string;
  /** The secret before the last rotation. Requests carry a signature with it as well, until `until` (epoch ms). */
  readonly previous?: { readonly secret: string; readonly until: number } | undefined;
  /** Whether the consumer's `batch` is above 1: its requests then contain a list, however long it is. */
  readonly batched: boolean;
  /** Maximum number of connections. */
  readonly concurrency: number;
  /** The deadline of its calls. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  /** Hosts that may be anywhere. All others are reached only with TLS, and at public addresses. */
  readonly namedHosts: NamedHosts | null;
  readonly lookup?: HostLookup;
  readonly sockets?: Sockets;
}

/**
 * Posts changes to an endpoint, signed as Standard Webhooks describe. 2xx accepts them, 410 disables the consumer,
 * 429 and 503 with `Retry-After` ask all calls to wait, as does a connection that cannot be opened. Everything else is a
 * failure of the change, redirects included: it may be what crashed the endpoint. Errors are an `EndpointError`.
 */
export function openHttpSink(options: HttpSinkOptions): Sink {
  const { origin, protocol, pathname, search } = new URL(options.url);
  const isNamed = isNamedHost(options.url, options.namedHosts ?? { own: undefined });
  /** Errors of connections that could not be opened. */
  const unsent = new WeakSet<Error>();
  const pool = openPool(options, origin, isNamed, unsent);

  return {
    async call(call) {
      if (protocol !== 'https:' && !isNamed)
        return { kind: 'unavailable', error: new EndpointError(NOT_HTTPS, 'insecure') };
      try {
        const request = signedRequest(options, call);
        const path = `${pathname}${search}`;
        const answer = await pool.request({ ...request, method: 'POST', path, signal: call.stop });
        return readEnd(answer, await readBeginning(answer.body), options.clock.now());
      } catch (error) {
        const kind = error instanceof Error && unsent.has(error) ? 'unavailable' : 'failed';
        return { kind, error: describeFailure(error) };
      }
    },
    async close() {
      await pool.destroy();
    },
  };
}

function openPool(
  { clock, concurrency, deadlineMs, lookup, sockets }: HttpSinkOptions,
  origin: string,
  isNamed: boolean,
  unsent: WeakSet<Error>,
): Pool {
  const connect = connectPublic({
    lookup: lookup ?? lookupHost,
    clock,
    // Less than the deadline of a call, so that one that was not sent does not count as late.
    deadlineMs: Math.min(CONNECT_WITHIN_MS, 0.9 * deadlineMs),
    ...(isNamed ? { detour: (target) => target } : {}),
    ...(sockets === undefined ? {} : { sockets }),
  });
  return new Pool(origin, {
    connect: (target, callback) =>
      skipInterim(connect)(target, (...[error, socket]) => {
        if (error === null) return callback(null, socket);
        unsent.add(error);
        callback(error, null);
      }),
    connections: concurrency,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // The deadline of the call limits both.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

function signedRequest(
  { secret, previous, batched, clock }: HttpSinkOptions,
  { changes, attempt }: SinkCall,
): { readonly headers: Record<string, string>; readonly body: string } {
  const last = changes.at(-1);
  if (last === undefined) throw new RangeError('a call contains at least one change');
  const isList = batched || changes.length > 1;
  const content: ConsumerRequest | ConsumerBatchRequest = isList
    ? { attempt, changes: changes.map(({ key, change }) => ({ key, change })) }
    : { key: last.key, attempt, change: last.change };
  const body = JSON.stringify(content);
  const now = clock.now();
  const secrets = previous !== undefined && now < previous.until ? [secret, previous.secret] : [secret];
  return {
    headers: {
      'content-type': 'application/json',
      accept: '*/*',
      'accept-encoding': 'identity',
      'user-agent': 'messaging-connector',
      ...signRequest({ id: last.key, now, body }, secrets),
    },
    body,
  };
}

/** The beginning of an answer. A longer one is cut off, and its connection with it. Throws if it is not received. */
async function readBeginning(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > LARGEST_ANSWER_BYTES) break;
  }
  return Buffer.concat(chunks).toString().slice(0, KEPT_CHARACTERS).trim();
}

/** What proxies and load balancers answer while no server behind them does. */
const OF_GATEWAYS: readonly number[] = [502, 503, 504];

function readEnd({ statusCode, headers }: Dispatcher.ResponseData, text: string, now: number): CallEnd {
  if (statusCode >= 200 && statusCode < 300) return { kind: 'taken' };
  const error = new EndpointError(describeAnswer(statusCode, text), `http_${statusCode}`);
  if (statusCode === 410) return { kind: 'disabled', error };
  const asked = readRetryAfter({ get: (name) => [headers[name]].flat()[0] ?? null }, now);
  const isAway = statusCode === 429 || (statusCode === 503 && asked !== null);
  const wait = asked === null ? {} : { retryAfterMs: asked };
  if (isAway) return { kind: 'unavailable', error, ...wait };
  return { kind: 'failed', error, ...wait, ...(OF_GATEWAYS.includes(statusCode) ? { byGateway: true } : {}) };
}

function describeAnswer(status: number, text: string): string {
  if (status >= 300 && status < 400) return `the consumer answered ${status}, and redirects are not followed`;
  return `the consumer answered ${status}${text === '' ? '' : `: ${text}`}`;
}

function describeFailure(cause: unknown): EndpointError {
  const { message, code } = describeError(cause);
  return new EndpointError(
    `the consumer did not answer: ${message || code || 'no reason known'}`,
    code,
    cause,
  );
}
