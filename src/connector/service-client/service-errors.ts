import { type ErrorCode, isErrorCode } from '../../contract/service/errors.ts';

/**
 * Any reason why a call to the service returned no usable response. The message never contains a credential
 * or a body.
 */
export abstract class ServiceError extends Error {
  /** How long the service asked to wait, in milliseconds; null if it did not say. */
  readonly retryAfterMs: number | null = null;
  /** HTTP status of the response; null if there was none. */
  readonly status: number | null = null;
  /** Short and stable, for metrics, logs and `GET /v1/sync`. */
  abstract readonly code: string;
  /** False if it is certain that the service did not execute the call. */
  abstract readonly mayHaveActed: boolean;
}

interface RefusalDetails {
  readonly status: number;
  readonly code: string;
  readonly field?: string | undefined;
  readonly retryAfterMs?: number | null;
}

/**
 * The service returned an error. Branch on `code`, which is `http_<status>` if the body has none (for
 * example, the page of a proxy). [errors.client.branches-on-code]
 */
export class ServiceRefusal extends ServiceError {
  override readonly name = 'ServiceRefusal';
  override readonly retryAfterMs: number | null;
  override readonly status: number;
  readonly code: string;
  /**
   * False if the service decided: the body has one of its error codes, other than that of its own failure. Without
   * one, whatever the status, a proxy may have answered in its place. A body that is too large and a rate limit are
   * clear whoever answered.
   */
  readonly mayHaveActed: boolean;
  readonly field: string | undefined;

  /** False for a response without an error code, which is hardly one of the service. */
  get hasCode(): boolean {
    return this.code !== `http_${this.status}`;
  }

  constructor(details: RefusalDetails) {
    super(`the service returned ${details.status} ${details.code}`);
    this.status = details.status;
    this.code = details.code;
    this.mayHaveActed = !isOwnRefusal(details.code) && !CLEAR_STATUSES.has(details.status);
    this.field = details.field;
    const { retryAfterMs: asked = null } = details;
    this.retryAfterMs = asked !== null && this.mayHaveActed ? Math.min(asked, LONGEST_OUTAGE_WAIT_MS) : asked;
  }
}

/** A proxy that announces a day of maintenance must not keep the connector away from a service that is back. */
const LONGEST_OUTAGE_WAIT_MS = 5 * 60_000;

const CLEAR_STATUSES: ReadonlySet<number> = new Set([413, 429]);

function isOwnRefusal(code: string): boolean {
  return isErrorCode(code) && code !== 'internal_error';
}

/**
 * The response was not received completely. `insecure`, `connect`: no connection was made, so nothing was
 * sent. `network`, `deadline` and `aborted`: the connection failed, the deadline passed, or the caller
 * aborted, and the request may have arrived.
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
  insecure: 'plain http to another machine would expose the credential; the address must start with https',
  connect: 'the connection to the service could not be established',
  network: 'the connection to the service failed',
  deadline: 'the service did not respond in time',
  aborted: 'the call to the service was aborted',
} as const;

/** A successful response whose body does not match the specification. */
export class ServiceAnswerUnreadable extends ServiceError {
  override readonly name = 'ServiceAnswerUnreadable';
  readonly code = 'unreadable_answer';
  readonly mayHaveActed = true;

  constructor(reason: string) {
    super(`the response of the service is invalid: ${reason}`);
  }
}

/** True if it is unknown whether the service executed the call. */
export function isLostAnswer(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.mayHaveActed;
}

/** True for a response of the service with exactly this code. */
export function isRefusal(error: unknown, code: ErrorCode): error is ServiceRefusal {
  return error instanceof ServiceRefusal && error.code === code;
}

/**
 * True if the service did not respond, or something else did in its place: a later call may reach it again.
 */
export function isUnavailable(error: unknown): boolean {
  return error instanceof ServiceUnreachable || (error instanceof ServiceRefusal && error.mayHaveActed);
}
