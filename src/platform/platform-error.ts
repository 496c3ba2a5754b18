import type { ErrorCode } from '../contract/service/errors.ts';

interface Details {
  /** The offending input key; with `invalid_request`. */
  readonly field?: string;
  /** Advice for people; with `invalid_request`. Never repeats what was sent. */
  readonly hint?: string;
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/**
 * A refusal that a client may see. Domain code throws it, `rest/` turns it into a status and a body through
 * the contract's table of errors. Anything else that is thrown answers 500 `internal_error`.
 */
export class PlatformError extends Error {
  override readonly name = 'PlatformError';
  readonly code: ErrorCode;
  readonly field: string | undefined;
  readonly hint: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, details: Details = {}) {
    super(details.field === undefined ? code : `${code}: ${details.field}`, { cause: details.cause });
    this.code = code;
    this.field = details.field;
    this.hint = details.hint;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}
