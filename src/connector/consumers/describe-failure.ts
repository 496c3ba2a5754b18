import { describeError } from '../../runtime/logger/describe-error.ts';
import { describeFault } from '../../runtime/logger/describe-fault.ts';
import { toStorableText } from '../db/storable-text.ts';

/**
 * What is stored about an error of a consumer: class, code, message without secrets, and the line of the CRM's own
 * code. The message may quote the change, so it is shown only to those who may read the change, and never logged.
 * Never throws.
 */
export function describeFailure(thrown: unknown): string {
  const { errorType, errorCode, location } = describeFault(thrown);
  const head = errorCode === undefined ? errorType : `${errorType} ${errorCode}`;
  const message = describeError(thrown).message || 'no message';
  return toStorableText(`${head}: ${message}${location === undefined ? '' : ` (${location})`}`);
}
