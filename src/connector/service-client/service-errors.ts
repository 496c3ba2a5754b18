import type { ErrorCode } from '../../contract/service/errors.ts';

/** Any way in which a call to the service did not bring its answer. No message holds a credential or a body. */
export abstract class ServiceError extends Error {
  /** How long the service asked to wait, in milliseconds; null when it did not say. */
  readonly retryAfterMs: number | null = null;
  /** Short and stable, for metrics, logs and `GET /v1/sync`. */
  abstract readonly code: string;
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
  readonly status: number;
  readonly code: string;
  readonly field: string | undefined;
  readonly hint: string | undefined;

  constructor(details: RefusalDetails) {
    super(`the service answered ${details.status} ${details.code}`);
    this.status = details.status;
    this.code = details.code;
    this.field = details.field;
    this.hint = details.hint;
    this.retryAfterMs = details.retryAfterMs ?? null;
  }
}

/** No whole answer came: the connection failed, the deadline passed, or the caller gave up. */
export class ServiceUnreachable extends ServiceError {
  override readonly name = 'ServiceUnreachable';
  readonly code: 'network' | 'deadline' | 'aborted';

  constructor(code: 'network' | 'deadline' | 'aborted', cause?: unknown) {
    super(UNREACHABLE[code], cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

const UNREACHABLE = {
  network: 'the service could not be reached',
  deadline: 'the service did not answer in time',
  aborted: 'the call to the service was given up',
} as const;

/** A success whose body does not fit the specification. */
export class ServiceAnswerUnreadable extends ServiceError {
  override readonly name = 'ServiceAnswerUnreadable';
  readonly code = 'unreadable_answer';

  constructor(reason: string) {
    super(`the answer of the service does not fit: ${reason}`);
  }
}

/** True for an answer of the service with exactly this code. */
export function isRefusal(error: unknown, code: ErrorCode): error is ServiceRefusal {
  return error instanceof ServiceRefusal && error.code === code;
}
