import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Clock } from '../../runtime/clock/clock.ts';
import { Beginning, beginningOf } from '../kernel/recorded-text.ts';
import type { AttemptResponse } from './delivery-record.ts';

export interface AttemptRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | Readable;
}

/** The result of an attempt: the receiver's status, an error, or both if the answer was cut off. */
export interface AttemptResult {
  readonly status?: number;
  readonly response?: AttemptResponse;
  readonly error?: string;
}

/** The headers of an answer that are recorded: those that tell who answered, and what to do. */
const RECORDED_HEADERS = [
  'content-type',
  'content-encoding',
  'location',
  'retry-after',
  'server',
  'via',
  'www-authenticate',
  'x-request-id',
] as const;

function recordedHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    RECORDED_HEADERS.flatMap((name) => {
      const value = headers[name];
      return value === undefined ? [] : [[name, beginningOf([value].flat().join(', '))]];
    }),
  );
}

const ERROR_WORDS: Readonly<Record<string, string>> = {
  ADDRESS_REFUSED: 'address_refused',
  CONNECT_TIMEOUT: 'timeout',
  ECONNREFUSED: 'connection_refused',
  ECONNRESET: 'connection_reset',
  UND_ERR_SOCKET: 'connection_closed',
  EPIPE: 'connection_closed',
  ENOTFOUND: 'name_not_resolved',
  EAI_AGAIN: 'name_not_resolved',
  UND_ERR_HEADERS_OVERFLOW: 'malformed_answer',
};

/** A short name for the reason that there is no answer. */
function describeFailure(error: unknown): string {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  const known = ERROR_WORDS[code];
  if (known !== undefined) return known;
  if (code.startsWith('HPE_')) return 'malformed_answer';
  return code === '' ? 'failed' : code.toLowerCase();
}

/** Thrown when the deadline or the caller ends the attempt. */
class AttemptEnded extends Error {
  override readonly name = 'AttemptEnded';
}

/** Handles one request and reports exactly one result. */
class AttemptHandler implements Dispatcher.DispatchHandler {
  readonly #done: (result: AttemptResult) => void;
  readonly #cancelDeadline: () => void;
  #controller: Dispatcher.DispatchController | undefined;
  #status: number | undefined;
  #headers: Readonly<Record<string, string>> = {};
  readonly #body = new Beginning();
  #over = false;

  constructor(clock: Clock, deadlineMs: number, done: (result: AttemptResult) => void) {
    this.#done = done;
    // [delivery.timeout]
    this.#cancelDeadline = clock.after(deadlineMs, () => this.end('timeout'));
  }

  /** Ends the attempt now with an error. */
  end(error: string): void {
    if (this.#finish(error)) this.#controller?.abort(new AttemptEnded(error));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) controller.abort(new AttemptEnded('ended before it began'));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    // 1xx statuses are not final.
    if (status < 200) return;
    this.#status = status;
    this.#headers = recordedHeaders(headers);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#body.add(chunk);
  }

  onResponseEnd(): void {
    this.#finish();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#finish(describeFailure(error));
  }

  #finish(error?: string): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#cancelDeadline();
    const response = { headers: this.#headers, body: this.#body.text() };
    const isEmpty = response.body === '' && Object.keys(response.headers).length === 0;
    this.#done({
      ...(this.#status === undefined ? {} : { status: this.#status }),
      ...(isEmpty ? {} : { response }),
      ...(error === undefined ? {} : { error }),
    });
    return true;
  }
}

export interface SendAttemptOptions {
  readonly clock: Clock;
  /** Limits the whole attempt, from connecting to the last byte of the answer. */
  readonly deadlineMs: number;
}

/**
 * Posts one attempt and calls `done` once. Does not follow redirects.
 * Returns a function that ends the attempt early. [events.post] [delivery.redirect]
 */
export function sendAttempt(
  dispatcher: Dispatcher,
  request: AttemptRequest,
  { clock, deadlineMs }: SendAttemptOptions,
  done: (result: AttemptResult) => void,
): () => void {
  const handler = new AttemptHandler(clock, deadlineMs, done);
  dispatcher.dispatch(
    {
      path: request.path,
      method: 'POST',
      headers: request.headers,
      body: request.body,
      headersTimeout: 0,
      bodyTimeout: 0,
    },
    handler,
  );
  return () => handler.end('stopped');
}

/** Whether a result is a success. [delivery.success] [delivery.failure] [delivery.redirect] */
export function isSuccess(result: AttemptResult): boolean {
  const { status, error } = result;
  return error === undefined && status !== undefined && status >= 200 && status < 300;
}
