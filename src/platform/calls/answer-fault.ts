import { ERROR_CODES, ERRORS, type ErrorCode, isErrorCode } from '../../contract/service/errors.ts';
import { HEADERS } from '../../contract/service/headers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import { type Answer, refusal } from './answer.ts';
import type { ApiFault } from './api-faults.ts';

type Fault<Type extends ApiFault['type']> = Extract<ApiFault, { readonly type: Type }>;

/** The first fault of a type among those of a call. */
export function findFault<Type extends ApiFault['type']>(
  faults: readonly ApiFault[],
  type: Type,
): Fault<Type> | undefined {
  return faults.find((fault): fault is Fault<Type> => fault.type === type);
}

/** Codes that fit any address. */
const GENERAL: readonly ErrorCode[] = [
  'invalid_request',
  'invalid_key',
  'insufficient_scope',
  'not_found',
  'method_not_allowed',
  'payload_too_large',
  'rate_limited',
];

/**
 * The code that a status stands for at an endpoint with these errors, when a fault names none: one of its own, else one
 * that fits any address. Undefined where neither is there.
 */
export function usualError(status: number, errors: readonly ErrorCode[]): ErrorCode | undefined {
  const stands = (code: ErrorCode): boolean => ERRORS[code].statuses.some((known) => known === status);
  const own = ERROR_CODES.find((code) => errors.includes(code) && stands(code));
  return own ?? GENERAL.find(stands) ?? (status >= 500 ? 'internal_error' : undefined);
}

/**
 * The answer that a fault makes up, with the body and the headers that the service gives its own refusals. `errors` are
 * those of the endpoint.
 */
export function answerFault(fault: Fault<'status'>, errors: readonly ErrorCode[]): Answer {
  const { code: status, error = usualError(status, errors) ?? 'invalid_request', retryAfter } = fault;
  const { body, headers } = isErrorCode(error)
    ? refusal(new PlatformError(error))
    : { body: { error }, headers: {} };
  const retry = retryAfter === undefined ? {} : { [HEADERS.retryAfter]: String(retryAfter) };
  return { status, body, headers: { ...headers, ...retry } };
}
