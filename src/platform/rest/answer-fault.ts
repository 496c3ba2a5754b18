import { ERROR_CODES, ERRORS, isErrorCode } from '../../contract/service/errors.ts';
import { HEADERS } from '../../contract/service/headers.ts';
import { PlatformError } from '../platform-error.ts';
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

/** The code that a status stands for when a fault names none. */
function usualError(status: number): string {
  return (
    ERROR_CODES.find((code) => ERRORS[code].statuses.some((known) => known === status)) ?? 'internal_error'
  );
}

/** The answer that a fault makes up, with the body and the headers that the service gives its own refusals. */
export function answerFault(fault: Fault<'status'>): Answer {
  const { code: status, error = usualError(status), retryAfter } = fault;
  const { body, headers } = isErrorCode(error)
    ? refusal(new PlatformError(error))
    : { body: { error }, headers: {} };
  const retry = retryAfter === undefined ? {} : { [HEADERS.retryAfter]: String(retryAfter) };
  return { status, body, headers: { ...headers, ...retry } };
}
