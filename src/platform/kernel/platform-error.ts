import type { ErrorCode } from '../../contract/service/errors.ts';
import { CHECK_OF_CODE, type Check, type OauthCheck } from './checks.ts';

/** Thrown when a check refuses a call. */
export abstract class Refusal extends Error {
  /** The error code in the answer, or the code of an error page. */
  abstract readonly code: string;
  /** The check that refused; null for an internal error. */
  abstract readonly check: Check | OauthCheck | null;
  /** The reason as a phrase, for the trace of the call. Never sent to the client; contains no secret. */
  abstract readonly reason: string;
}

interface Details {
  /** The offending input key; with `invalid_request`. */
  readonly field?: string;
  /** Advice for people; with `invalid_request`. Never repeats the input. */
  readonly hint?: string;
  readonly retryAfterSeconds?: number;
  /** The check that refused, if it is not the usual one for the code. */
  readonly check?: Check;
  /** The reason as a phrase, for the trace of the call. Never sent to the client; contains no secret. */
  readonly why?: string;
  readonly cause?: unknown;
}

/**
 * A refusal that is shown to the client. Domain code throws it, and `calls/answer.ts` maps it to a status and a body
 * with the contract's table of errors. Any other error is answered with 500 `internal_error`.
 */
export class PlatformError extends Refusal {
  override readonly name = 'PlatformError';
  readonly code: ErrorCode;
  readonly field: string | undefined;
  readonly hint: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** The check that refused; null for an internal error. */
  readonly check: Check | null;
  readonly why: string | undefined;

  constructor(code: ErrorCode, details: Details = {}) {
    super(details.field === undefined ? code : `${code}: ${details.field}`, { cause: details.cause });
    this.code = code;
    this.field = details.field;
    this.hint = details.hint;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.check = details.check ?? CHECK_OF_CODE[code];
    this.why = details.why;
  }

  override get reason(): string {
    return this.why ?? (this.field === undefined ? this.code : `${this.field}: ${this.hint ?? this.code}`);
  }
}
