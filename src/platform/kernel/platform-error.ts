import type { ErrorCode } from '../../contract/service/errors.ts';
import { CHECK_OF_CODE, type Check, type OauthCheck } from './checks.ts';

/** What is thrown where a check stops a call. */
export abstract class Refusal extends Error {
  /** The code that the client reads, or that stands for a page. */
  abstract readonly code: string;
  /** Null when no check refused: the service failed. */
  abstract readonly check: Check | OauthCheck | null;
  /** The reason as a phrase, for the trace of the call. Never on the wire; names no secret. */
  abstract readonly reason: string;
}

interface Details {
  /** The offending input key; with `invalid_request`. */
  readonly field?: string;
  /** Advice for people; with `invalid_request`. Never repeats what was sent. */
  readonly hint?: string;
  readonly retryAfterSeconds?: number;
  /** Which check refused, where it is not the usual one of the code. */
  readonly check?: Check;
  /** The reason as a phrase, for the trace of the call. Never on the wire; names no secret. */
  readonly why?: string;
  readonly cause?: unknown;
}

/**
 * A refusal that a client may see. Domain code throws it, `rest/` turns it into a status and a body through
 * the contract's table of errors. Anything else that is thrown answers 500 `internal_error`.
 */
export class PlatformError extends Refusal {
  override readonly name = 'PlatformError';
  readonly code: ErrorCode;
  readonly field: string | undefined;
  readonly hint: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** Null when no check refused: the service failed. */
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
