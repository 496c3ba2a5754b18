import type { z } from 'zod';
import type { ErrorBody, ErrorCode } from './errors.ts';
import { TEXT_OR_MEDIA } from './messages.ts';

/** Request fields whose errors have their own code. */
const fieldCodes: ReadonlyMap<string, ErrorCode> = new Map<string, ErrorCode>([
  ['phoneNumber', 'invalid_phone_number'], // [errors.invalid_phone_number] [choice.to.field]
]);

/**
 * Returns the error body for a request that its schema rejected: the code and, with `invalid_request`, the
 * first invalid key (`media.data` for a nested one, `body` for the body as a whole) and what it must be.
 * Never repeats the input. [errors.body.field] [errors.body.hint]
 */
export function describeRefusal(error: z.ZodError): ErrorBody {
  const issue = error.issues[0];
  if (issue === undefined) return { error: 'invalid_request', field: 'body' };
  const isUndecided = error.issues.some(
    ({ path, message }) => path.length === 0 && message === TEXT_OR_MEDIA,
  );
  if (isUndecided) return { error: 'text_or_media' };
  const field = issue.path.join('.') || 'body';
  const code = fieldCodes.get(field);
  if (code !== undefined) return { error: code };
  return { error: 'invalid_request', field, hint: issue.message };
}
