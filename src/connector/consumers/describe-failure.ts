import { describeError } from '../../runtime/logger/describe-error.ts';
import { describeFault, readSafely } from '../../runtime/logger/describe-fault.ts';
import { maskSecrets } from '../../runtime/logger/scrub-text.ts';
import { toStorableText } from '../db/storable-text.ts';

/** Room for 300 characters of an answer, and what is said of it. */
const LONGEST = 330;

/**
 * What is stored about an error with the change that failed: class, code, message without secrets, and the line of the
 * CRM's own code. The message may quote the change, so it is shown only to those who may read the change, is erased with
 * it, and never logged. Never throws.
 */
export function describeFailure(thrown: unknown): string {
  return describe(thrown, maskSecrets(readMessage(thrown), LONGEST));
}

/** What is stored about an error with the consumer, which nobody erases: as above, but without quoted texts. */
export function describeRefusal(thrown: unknown): string {
  return describe(thrown, describeError(thrown).message);
}

function describe(thrown: unknown, message: string): string {
  const { errorType, errorCode, location } = describeFault(thrown);
  const head = errorCode === undefined ? errorType : `${errorType} ${errorCode}`;
  const place = location === undefined ? '' : ` (${location})`;
  return toStorableText(`${head}: ${message || 'no message'}${place}`);
}

function readMessage(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  if (typeof thrown !== 'object' || thrown === null) return 'not an error';
  const message = readSafely(() => Reflect.get(thrown, 'message'));
  return typeof message === 'string' ? message : '';
}
