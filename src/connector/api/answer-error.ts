import type { NextFunction, Request, Response } from 'express';
import { CONNECTOR_ERRORS, type ConnectorErrorCode } from '../../contract/connector/errors.ts';
import { isConnectionFailure } from '../../runtime/database/database.ts';
import { DenseBody } from '../../runtime/http-server/bound-json.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { ApiError, invalid, tooLarge } from './api-error.ts';

const RETRY_AFTER_MS = 1_000;

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
    response.status(refusal.status).json({ error: refusal.code, message: refusal.message });
  };
}

function toRefusal(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (isConnectionFailure(error)) return new ApiError('unavailable', meaning('unavailable'), RETRY_AFTER_MS);
  if (error instanceof DenseBody) return invalid('body', error.message);
  const { status, type } = readHttpError(error);
  if (status === 413) return tooLarge();
  if (type?.startsWith('encoding.') === true) return invalid('body', 'must not be compressed');
  if (status !== undefined && status < 500)
    return invalid(type === undefined ? 'path' : 'body', 'cannot be read');
  return new ApiError('internal_error', meaning('internal_error'));
}

function meaning(code: ConnectorErrorCode): string {
  return CONNECTOR_ERRORS[code].meaning;
}

/** The properties that express and its body parser set on request errors. */
function readHttpError(error: unknown): { status: number | undefined; type: string | undefined } {
  if (!(error instanceof Error)) return { status: undefined, type: undefined };
  const status: unknown = Reflect.get(error, 'status');
  const type: unknown = Reflect.get(error, 'type');
  return {
    status: typeof status === 'number' ? status : undefined,
    type: typeof type === 'string' ? type : undefined,
  };
}
