import type { Clock } from '../../../../src/runtime/clock/clock.ts';
import { Skip } from './check.ts';
import { type Exchange, parseJson } from './exchange.ts';
import type { Journal } from './journal.ts';

export interface RequestOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent unchanged, as `application/json`. */
  readonly rawBody?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * True treats a 429 like any other response; otherwise the client waits as the service asks and retries.
   */
  readonly takeRateLimit?: boolean;
}

/** Sends requests to one base address with one credential. */
export interface HttpClient {
  /**
   * Resolves with any response. Throws if there is none, and throws a `Skip` if a rate limit lasts too long.
   */
  request(method: string, path: string, options?: RequestOptions): Promise<Exchange>;
}

export interface HttpClientOptions {
  readonly baseUrl: string;
  /** Value of the `Authorization` header; if absent, none is sent. */
  readonly authorization?: string;
  /** Description of the credential. */
  readonly as: string;
  readonly clock: Clock;
  readonly journal: Journal;
  /** Waits so that requests are not too frequent. */
  readonly pace: () => Promise<void>;
}

/** The service did not respond: it cannot be reached, or it closed the connection. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

const LONGEST_WAIT_MS = 120_000;
const WAIT_WITHOUT_HINT_MS = 5_000;
const MAX_WAITS = 3;
/** Maximum length of a shown request body. */
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
    const sent = { as, method, path, requestHeaders, requestBody: rawBody?.slice(0, LONGEST_KEPT) };
    const exchange = { ...sent, status, headers, text, json: parseJson(text), ms: clock.elapsed() - began };
    probe.see(exchange);
    return exchange;
  }

  return {
    async request(method, path, request = {}) {
      for (let waits = 0; ; waits++) {
        const exchange = await once(method, path, request);
        if (exchange.status !== 429 || request.takeRateLimit === true) return exchange;
        const ms = readRetryAfter(exchange.headers, clock.now()) ?? WAIT_WITHOUT_HINT_MS;
        if (waits === MAX_WAITS || ms > LONGEST_WAIT_MS) throw new Skip('the service is rate limiting');
        const probe = journal.current();
        probe.note(`waited ${Math.ceil(ms / 1000)} s, as requested by the rate limit`);
        probe.extend(ms);
        await clock.sleep(ms, probe.signal);
      }
    },
  };
}

/** A server may close an idle connection just as it is reused; retrying a read is harmless. */
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
  return new NoAnswer(`no response: ${why}`, { cause: error });
}

/** How long `Retry-After` asks to wait, in seconds or until a date; null if it is absent or malformed. */
export function readRetryAfter(headers: Headers, now: number): number | null {
  const asked = headers.get('retry-after') ?? '';
  if (/^\d{1,6}$/.test(asked)) return Number(asked) * 1000;
  const ms = Date.parse(asked) - Date.parse(headers.get('date') ?? new Date(now).toUTCString());
  return /GMT$/.test(asked) && !Number.isNaN(ms) ? Math.max(0, ms) : null;
}

/** Returns a function that resolves no earlier than `gapMs` after its previous call resolved. */
export function createPace(clock: Clock, gapMs: number): () => Promise<void> {
  let next = Number.NEGATIVE_INFINITY;
  return async () => {
    const now = clock.elapsed();
    const wait = next - now;
    next = Math.max(now, next) + gapMs;
    if (wait > 0) await clock.sleep(wait);
  };
}
