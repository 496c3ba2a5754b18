import { CONNECTOR_ERRORS, type ConnectorErrorCode } from '../../contract/connector/errors.ts';

/** A refusal of the connector's API: a code for programs, a sentence for people that names the field. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ConnectorErrorCode | 'rate_limited';
  /** When trying again makes sense, in milliseconds from now. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ConnectorErrorCode | 'rate_limited', message: string, retryAfterMs?: number) {
    super(message);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }

  get status(): number {
    return this.code === 'rate_limited' ? 429 : CONNECTOR_ERRORS[this.code].status;
  }
}

/** Nothing with this id. */
export function notFound(what: string): ApiError {
  return new ApiError('not_found', `No ${what} with this id.`);
}

/** The input is wrong in this field. */
export function invalid(field: string, problem: string): ApiError {
  return new ApiError('invalid_request', `${field}: ${problem}.`);
}
