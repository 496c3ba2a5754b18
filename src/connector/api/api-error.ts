import { CONNECTOR_ERRORS, type ConnectorErrorCode } from '../../contract/connector/errors.ts';
import { ERRORS, type ErrorCode } from '../../contract/service/errors.ts';

/** The connector's own codes, and the service's codes that it passes on. */
export type ApiErrorCode = ConnectorErrorCode | ErrorCode;

/** An error of the connector's API: a code for programs, and a message for people that names the field. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ApiErrorCode;
  /** How long to wait before a retry, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ApiErrorCode, message: string, retryAfterMs?: number) {
    super(message);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }

  get status(): number {
    return isConnectorCode(this.code) ? CONNECTOR_ERRORS[this.code].status : ERRORS[this.code].statuses[0];
  }
}

/** If both tables have a code, the connector's entry is used. */
function isConnectorCode(code: ApiErrorCode): code is ConnectorErrorCode {
  return Object.hasOwn(CONNECTOR_ERRORS, code);
}

/** No object with this id. */
export function notFound(what: string): ApiError {
  return new ApiError('not_found', `No ${what} with this id.`);
}

/** The body is larger than the path accepts. */
export function tooLarge(): ApiError {
  return new ApiError('payload_too_large', 'The body is larger than this path accepts.');
}

/** The input is invalid in this field. */
export function invalid(field: string, problem: string): ApiError {
  return new ApiError('invalid_request', `${field}: ${problem}.`);
}
