import { request as callHttp, type IncomingHttpHeaders } from 'node:http';
import { request as callHttps } from 'node:https';
import type { Request, RequestHandler } from 'express';

/** Headers that belong to one hop; the next one makes its own. */
const HOP_HEADERS = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];
/** Headers about the caller, or for this hop, which are not forwarded. */
const CALLERS_OWN = [
  'host',
  'authorization',
  'origin',
  'referer',
  'cookie',
  'expect',
  'forwarded',
  'x-real-ip',
];
/** Only a proxy that knows the caller's address may state it. */
const STATED_BY_PROXIES = /^x-forwarded-/;
/** `.` and `..`, also encoded, which a server may resolve to a path outside of the target's. */
const DOT_SEGMENT = /(?:^|[/\\])(?:\.|%2e){1,2}(?:[/\\]|$)/i;

function without(headers: IncomingHttpHeaders, names: readonly string[]): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}

/** The headers of the caller that the next server is to see. */
function passOn(headers: IncomingHttpHeaders, own: readonly string[]): IncomingHttpHeaders {
  const passed = without(headers, [...HOP_HEADERS, ...CALLERS_OWN, ...own]);
  return Object.fromEntries(Object.entries(passed).filter(([name]) => !STATED_BY_PROXIES.test(name)));
}

/**
 * How the body of a request ends, in hop-by-hop headers: Node writes the body of a GET or DELETE without a frame
 * unless a header requests one, and the bytes would then be the next request.
 */
function framing({ 'transfer-encoding': encoding }: IncomingHttpHeaders): Record<string, string> {
  return encoding === undefined ? {} : { 'transfer-encoding': 'chunked' };
}

/** A server that requests are forwarded to. */
export interface ForwardTarget {
  /** Its address. A path in it precedes the path of each request. */
  readonly url: string;
  /** The `Host` that it is asked for. Default: that of its address. */
  readonly host?: string;
  readonly token: string;
}

/**
 * Called when a request is forwarded. What it returns is called with the bodies of the request and of its response, once
 * a 2xx has ended; null stands for a body that is too long to keep.
 */
export type WatchForward = (
  request: Request,
) => ((body: string | null, answer: string | null) => void) | undefined;

export interface ForwardOptions {
  /** Where a request goes; what it throws is the response. */
  readonly target: (request: Request) => ForwardTarget | Promise<ForwardTarget>;
  /** The error if the server does not respond, or if the path has a segment `.` or `..`. */
  readonly refuse: (why: 'unreachable' | 'dot_segment') => Error;
  /** Headers, in lower case, that `target` reads and the server is not sent. */
  readonly ownHeaders?: readonly string[];
  readonly watch?: WatchForward | undefined;
}

/** A longer body is not kept for `watch`, in bytes. */
const LONGEST_KEPT = 1024 * 1024;

/** Keeps what flows through a stream; null if it is too long. */
function keep(stream: NodeJS.ReadableStream): () => string | null {
  let chunks: Buffer[] | null = [];
  let length = 0;
  stream.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length > LONGEST_KEPT) chunks = null;
    chunks?.push(chunk);
  });
  return () => (chunks === null ? null : Buffer.concat(chunks).toString());
}

function isSuccess(status = 0): boolean {
  return status >= 200 && status < 300;
}

/**
 * Forwards a request to another server and adds the bearer token of its API, so that whoever may call this one
 * needs neither the token nor CORS. Streams in both directions; a client that leaves ends the call.
 * The path is sent as it came, so that no path can lead the token to another host or out of the target's path.
 */
export function forward({ target, refuse, ownHeaders = [], watch }: ForwardOptions): RequestHandler {
  return async (request, response, next) => {
    const [path = ''] = request.url.split('?', 1);
    if (DOT_SEGMENT.test(path)) throw refuse('dot_segment');
    const { url, host, token } = await target(request);
    if (response.destroyed) return;
    const forwarded = watch?.(request);
    const body = forwarded && keep(request);
    const { protocol, hostname, port, pathname } = new URL(url);
    const call = (protocol === 'https:' ? callHttps : callHttp)({
      host: hostname.replace(/^\[|\]$/g, ''),
      port,
      path: pathname.replace(/\/$/, '') + request.url,
      method: request.method,
      headers: {
        ...passOn(request.headers, ownHeaders),
        ...framing(request.headers),
        ...(host === undefined ? {} : { host }),
        authorization: `Bearer ${token}`,
      },
    });
    call.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, without(answer.headers, HOP_HEADERS));
      if (forwarded !== undefined && isSuccess(answer.statusCode)) {
        const answered = keep(answer);
        answer.on('end', () => forwarded(body?.() ?? null, answered()));
      }
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    call.on('error', () => {
      if (response.headersSent || response.destroyed) response.destroy();
      else next(refuse('unreachable'));
    });
    response.on('close', () => call.destroy());
    request.pipe(call);
  };
}
