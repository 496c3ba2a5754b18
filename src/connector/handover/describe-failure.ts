import { describeError } from '../../runtime/logger/describe-error.ts';
import { findPlace } from '../../runtime/logger/find-place.ts';
import { toStorableText } from '../db/storable-text.ts';

/**
 * What a dead letter says of what the handler threw: type, code, message, and the line of the CRM's own code.
 * Secrets and quoted texts are left out, as in the log. Never throws.
 */
export function describeFailure(thrown: unknown): string {
  const { type, code, message } = describeError(thrown);
  const place = findPlace(thrown);
  const head = code === undefined ? type : `${type} ${code}`;
  return toStorableText(`${head}: ${message || 'no message'}${place === null ? '' : ` (${place})`}`);
}
