import { Skip } from './check.ts';
import type { Clock } from './clock.ts';
import { type Exchange, parseJson } from './exchange.ts';
import type { Journal } from './journal.ts';

/** One request. */
export interface RequestOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, as `application/json`. */
  readonly rawBody?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** True: a 429 is an answer like any other; else it is waited for as the other side asks. */
  readonly takeRateLimit?: boolean;
}

/** Asks under one base address with one credential. */
export interface HttpClient {
  /** Resolves with any answer. Throws for none, and a `Skip` where a rate limit outlasts our patience. */
  request(method: string, path: string, options?: RequestOptions): Promise<Exchange>;
}

export interface HttpClientOptions {
  readonly baseUrl: string;
  /** Value of the `Authorization` header; absent: none is sent. */
  readonly authorization?: string;
  /** Whose credential that is, in words. */
  readonly as: string;
  readonly clock: Clock;
  readonly journal: Journal;
  /** Waits so that requests do not come too thick. */
  readonly pace: () => Promise<void>;
}

/** The other side did not answer: it cannot be reached, or it hung up. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

const LONGEST_WAIT_MS = 120_000;
const WAIT_WITHOUT_HINT_MS = 5_000;
const MOST_WAITS = 3;
/** Of a request body; more says nothing more. */
const LONGEST_KEPT = 8_192;

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { clock, journal } = options;

  async function once(method: string, path: string, request: RequestOptions): Promise<Exchange> {
    await options.pace();
    const probe = journal.current();
    const { body, rawBody = body === undefined ? undefined : JSON.stringify(body) } = request;
    const requestHeaders = {
      ...(options.authorization === undefined ? {} : { authorization: options.authorization }),
      ...(rawBody === undefined ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
    };
    const began = clock.elapsed();
    const answer = await ask(`${options.baseUrl}${path}`, {
      method,
      headers: requestHeaders,
      redirect: 'manual',
      signal: probe.signal,
      ...(rawBody === undefined ? {} : { body: rawBody }),
    });
    const text = await answer.text().catch((error: unknown) => {
      throw unanswered(error);
    });
    const { as } = options;
    const { status, headers } = answer;
    const told = { as, method, path, requestHeaders, requestBody: rawBody?.slice(0, LONGEST_KEPT) };
    const exchange = { ...told, status, headers, text, json: parseJson(text), ms: clock.elapsed() - began };
    probe.see(exchange);
    return exchange;
  }

  return {
    async request(method, path, request = {}) {
      for (let waits = 0; ; waits++) {
        const exchange = await once(method, path, request);
        if (exchange.status !== 429 || request.takeRateLimit === true) return exchange;
        const ms = waitFor(exchange);
        if (waits === MOST_WAITS || ms > LONGEST_WAIT_MS) throw new Skip('the service limits the rate');
        const probe = journal.current();
        probe.note(`waited ${Math.ceil(ms / 1000)} s, as the rate limit asked`);
        probe.extend(ms);
        await clock.sleep(ms, probe.signal);
      }
    },
  };
}

/** A server may close an idle connection just as it is used again; reading once more does no harm. */
async function ask(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (init.method !== 'GET' || init.signal?.aborted === true) throw unanswered(error);
  }
  try {
    return await fetch(url, init);
  } catch (error) {
    throw unanswered(error);
  }
}

function unanswered(error: unknown): NoAnswer {
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  const why = cause instanceof Error ? cause.message || String((cause as { code?: unknown }).code) : message;
  return new NoAnswer(`no answer: ${why}`, { cause: error });
}

function waitFor(exchange: Exchange): number {
  const asked = exchange.headers.get('retry-after') ?? '';
  return /^\d{1,6}$/.test(asked) ? Number(asked) * 1000 : WAIT_WITHOUT_HINT_MS;
}

/** Returns a function that resolves no sooner than `gapMs` after it last did. */
export function createPace(clock: Clock, gapMs: number): () => Promise<void> {
  let next = Number.NEGATIVE_INFINITY;
  return async () => {
    const now = clock.elapsed();
    const wait = next - now;
    next = Math.max(now, next) + gapMs;
    if (wait > 0) await clock.sleep(wait);
  };
}
