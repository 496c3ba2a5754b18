import { Agent, type ClientRequest, type IncomingMessage, request as openHttp } from 'node:http';
import { request as openHttps } from 'node:https';
import type { Clock } from '../../../../src/runtime/clock/clock.ts';
import { Violation } from '../runner/check.ts';
import { type Exchange, parseJson } from '../runner/exchange.ts';
import type { Journal } from '../runner/journal.ts';
import type { Header } from './profile.ts';

/** A request as it goes over the wire. */
export interface Sent {
  readonly method: string;
  readonly headers: readonly Header[];
  readonly body: Buffer;
  /** Describes it in the evidence. */
  readonly as: string;
  /** Pauses in the middle of the body, in milliseconds. */
  readonly pauseMs?: number;
  /** Keeps the connection for the next request with the same agent. */
  readonly agent?: Agent;
}

export interface SenderOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly journal: Journal;
  /** How long an answer may take, in milliseconds. */
  readonly timeoutMs: number;
}

const LONGEST_ANSWER = 64 * 1024;
const LONGEST_KEPT = 2_000;

/**
 * Returns a function that sends a request unchanged, header by header, and resolves with any response.
 * It throws a `Violation` if there is none in time.
 */
export function createSender(options: SenderOptions): (sent: Sent) => Promise<Exchange> {
  const { url, clock, journal, timeoutMs } = options;
  const target = new URL(url);
  const open = target.protocol === 'https:' ? openHttps : openHttp;
  return async (sent) => {
    const probe = journal.current();
    const began = clock.elapsed();
    const headers: Header[] = [
      ['Host', target.host],
      ...sent.headers,
      ['Content-Length', String(sent.body.length)],
      ...(sent.agent === undefined ? [['Connection', 'close'] as const] : []),
    ];
    const late = new AbortController();
    const cancel = clock.after(timeoutMs, () => late.abort(), { keepAlive: true });
    const signal = AbortSignal.any([probe.signal, late.signal]);
    const request = open(target, {
      method: sent.method,
      // Node writes each character as one byte. Receivers read the bytes of UTF-8.
      headers: headers.flat().map((text) => Buffer.from(text).toString('latin1')),
      agent: sent.agent ?? new Agent(),
      signal,
      setHost: false,
    });
    const shown = {
      as: sent.as,
      method: sent.method,
      path: target.pathname + target.search,
      requestHeaders: joinHeaders(sent.headers),
      requestBody: showBody(sent.body),
    };
    try {
      const answer = await exchange(request, sent, clock);
      const text = await readText(answer);
      const heads = Object.entries(answer.headers).flatMap(([name, value]): [string, string][] =>
        value === undefined ? [] : [[name, String(value)]],
      );
      const ms = clock.elapsed() - began;
      const status = answer.statusCode ?? 0;
      const found = { ...shown, status, headers: new Headers(heads), text, json: parseJson(text), ms };
      probe.see(found);
      return found;
    } catch (error) {
      probe.signal.throwIfAborted();
      const ms = clock.elapsed() - began;
      const nothing = { ...shown, status: 0, headers: new Headers(), text: '', json: undefined, ms };
      probe.see(nothing);
      const why = signal.aborted ? `none within ${timeoutMs / 1000} s` : `none: ${describe(error)}`;
      throw new Violation('an answer', why, nothing);
    } finally {
      // An answer has a limit of its own: one check may wait for several slow ones.
      probe.extend(clock.elapsed() - began);
      cancel();
      request.destroy();
    }
  };
}

/** A long body is shown by its beginning. */
function showBody(body: Buffer): string {
  if (body.length <= LONGEST_KEPT) return body.toString();
  return `${body.subarray(0, LONGEST_KEPT / 10).toString()}… (${body.length} bytes)`;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return (error as NodeJS.ErrnoException).code ?? error.message;
}

/** Repeated headers in one line each, as they are shown. */
function joinHeaders(headers: readonly Header[]): Record<string, string> {
  const joined: Record<string, string> = {};
  for (const [name, value] of headers) joined[name] = name in joined ? `${joined[name]} | ${value}` : value;
  return joined;
}

function exchange(request: ClientRequest, { body, pauseMs }: Sent, clock: Clock): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    request.once('error', reject);
    if (pauseMs === undefined) {
      request.end(body);
      return;
    }
    let half = Math.floor(body.length / 2);
    // In the middle of a character, if there is one.
    while (half < body.length - 1 && ((body[half] ?? 0) & 0xc0) !== 0x80) half += 1;
    request.write(body.subarray(0, half));
    clock.after(pauseMs, () => request.end(body.subarray(half)), { keepAlive: true });
  });
}

/** The beginning of the answer; the rest is read and dropped, so that the connection can be used again. */
async function readText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    if (length < LONGEST_ANSWER) chunks.push(chunk);
    length += chunk.length;
  }
  return Buffer.concat(chunks).subarray(0, LONGEST_ANSWER).toString();
}
