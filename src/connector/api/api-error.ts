import type { NextFunction, Request, Response } from 'express';
import { CONNECTOR_ERRORS, type ConnectorErrorCode } from '../../contract/connector/errors.ts';
import { ERRORS, type ErrorCode } from '../../contract/service/errors.ts';
import { isConnectionFailure } from '../../runtime/database/database.ts';
import { UnfitBody } from '../../runtime/http-server/bound-json.ts';
import type { Logger } from '../../runtime/logger/logger.ts';

/** The connector's own codes, and the service's codes that it passes on. */
export type ApiErrorCode = ConnectorErrorCode | ErrorCode;

/** An error of the connector's API: a code for programs, and a message for people that names the field. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ApiErrorCode;
  /** How long to wait before a retry, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Further fields of the response. */
  readonly details: object;

  constructor(code: ApiErrorCode, message: string, retryAfterMs?: number, details: object = {}) {
    super(message);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
    this.details = details;
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

/** `Retry-After` of an `unavailable` response, by what the request has to wait for. */
export const RETRY_AFTER_MS = {
  database: 1_000,
  memory: 1_000,
  file: 2_000,
  stream: 5_000,
  service: 5_000,
} as const;

/**
 * Turns what an operation threw into a response. Only internal errors are logged, and their response contains
 * no details.
 */
export function answerError(logger: Logger) {
  return (error: unknown, request: Request, response: Response, next: NextFunction): void => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const refusal = toRefusal(error);
    if (refusal.code === 'internal_error' || refusal.code === 'unavailable') {
      logger.error({ err: error, method: request.method, errorCode: refusal.code }, 'a request failed');
    }
    if (refusal.retryAfterMs !== undefined) {
      response.setHeader('Retry-After', String(Math.max(1, Math.ceil(refusal.retryAfterMs / 1_000))));
    }
    const { status, code, message, details } = refusal;
    response.status(status).json({ error: code, message, ...details });
  };
}

/** What an operation threw, as an error of the API. */
export function toRefusal(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (isConnectionFailure(error))
    return new ApiError('unavailable', meaning('unavailable'), RETRY_AFTER_MS.database);
  if (error instanceof UnfitBody) return invalid('body', error.message);
  // As express and its body parser set them.
  const { status, type }: { status?: unknown; type?: unknown } = Object(error);
  if (status === 413) return tooLarge();
  if (typeof type === 'string' && type.startsWith('encoding.'))
    return invalid('body', 'must not be compressed');
  if (typeof status === 'number' && status < 500)
    return invalid(type === undefined ? 'path' : 'body', 'cannot be read');
  return new ApiError('internal_error', meaning('internal_error'));
}

function meaning(code: ConnectorErrorCode): string {
  return CONNECTOR_ERRORS[code].meaning;
}
