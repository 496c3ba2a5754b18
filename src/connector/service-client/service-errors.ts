import { type ErrorCode, isErrorCode } from '../../contract/service/errors.ts';

/** Any way in which a call to the service did not bring its answer. No message holds a credential or a body. */
export abstract class ServiceError extends Error {
  /** How long the service asked to wait, in milliseconds; null when it did not say. */
  readonly retryAfterMs: number | null = null;
  /** HTTP status of the answer; null when there was none. */
  readonly status: number | null = null;
  /** Short and stable, for metrics, logs and `GET /v1/sync`. */
  abstract readonly code: string;
  /** False when it is certain that the service did not do what it was asked to. */
  abstract readonly mayHaveActed: boolean;
}

interface RefusalDetails {
  readonly status: number;
  readonly code: string;
  readonly field?: string | undefined;
  readonly hint?: string | undefined;
  readonly retryAfterMs?: number | null;
}

/**
 * The service answered with an error. Implements `Errors`: branch on `code`, which is `http_<status>` when
 * the body carries none (the page of a proxy, say).
 */
export class ServiceRefusal extends ServiceError {
  override readonly name = 'ServiceRefusal';
  override readonly retryAfterMs: number | null;
  override readonly status: number;
  readonly code: string;
  /** True for a 5xx whose code is not one of the service's own refusals: it, or a proxy, failed on the way. */
  readonly mayHaveActed: boolean;
  readonly field: string | undefined;
  readonly hint: string | undefined;

  constructor(details: RefusalDetails) {
    super(`the service answered ${details.status} ${details.code}`);
    this.status = details.status;
    this.code = details.code;
    this.mayHaveActed = details.status >= 500 && !isOwnRefusal(details.code);
    this.field = details.field;
    this.hint = details.hint;
    this.retryAfterMs = details.retryAfterMs ?? null;
  }
}

function isOwnRefusal(code: string): boolean {
  return isErrorCode(code) && code !== 'internal_error';
}

/**
 * No whole answer came. `insecure`, `connect`: no connection was made, so nothing was sent. `network`, `deadline` and
 * `aborted`: the connection failed, the deadline passed, or the caller gave up, and the request may have arrived.
 */
export class ServiceUnreachable extends ServiceError {
  override readonly name = 'ServiceUnreachable';
  readonly code: keyof typeof UNREACHABLE;
  readonly mayHaveActed: boolean;

  constructor(code: keyof typeof UNREACHABLE, cause?: unknown) {
    super(UNREACHABLE[code], cause === undefined ? undefined : { cause });
    this.code = code;
    this.mayHaveActed = code !== 'connect' && code !== 'insecure';
  }
}

const UNREACHABLE = {
  insecure: 'plain http to another machine would show the credential; the address must begin with https',
  connect: 'no connection to the service could be made',
  network: 'the connection to the service failed',
  deadline: 'the service did not answer in time',
  aborted: 'the call to the service was given up',
} as const;

/** A success whose body does not fit the specification. */
export class ServiceAnswerUnreadable extends ServiceError {
  override readonly name = 'ServiceAnswerUnreadable';
  readonly code = 'unreadable_answer';
  readonly mayHaveActed = true;

  constructor(reason: string) {
    super(`the answer of the service does not fit: ${reason}`);
  }
}

/** True for an answer of the service with exactly this code. */
export function isRefusal(error: unknown, code: ErrorCode): error is ServiceRefusal {
  return error instanceof ServiceRefusal && error.code === code;
}

/** True when the service gave no answer, or none of its own: a later call may find it back. */
export function isAway(error: unknown): boolean {
  return error instanceof ServiceUnreachable || (error instanceof ServiceRefusal && error.mayHaveActed);
}
