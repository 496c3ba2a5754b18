import { ERRORS, type ErrorCode, isErrorCode } from '../../contract/service/errors.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { type Account, readAccounts } from '../accounts/account-store.ts';
import { NoCredential } from '../accounts/credential-source.ts';
import { OauthRefusal, ReauthRequired } from '../oauth/oauth-errors.ts';
import { ServiceError, ServiceRefusal } from '../service-client/service-errors.ts';
import { ApiError, invalid, notFound } from './api-error.ts';

/** How long a rate-limited caller waits if the service sent no `Retry-After`. */
const DEFAULT_WAIT_MS = 5_000;

/** Service codes that are passed on, each with a message that states what to do. */
export type PassedCodes = { readonly [Code in ErrorCode]?: string };

/**
 * Maps a failed call to the service to an error of the API: `rate_limited`, `service_refused` with the
 * service's code in the message, `service_unreachable`, or one of the codes that are passed on. Anything else
 * is returned unchanged.
 */
export function describeServiceFailure(error: unknown, passed: PassedCodes = {}): unknown {
  if (error instanceof NoCredential) return invalid('accountId', error.message);
  if (!(error instanceof ServiceError)) return error;
  if (error instanceof ReauthRequired) return consentRequired();
  if (error instanceof OauthRefusal) {
    return new ApiError('service_refused', `The authorization server returned an error: ${error.error}.`);
  }
  if (error.status === 429) {
    const wait = error.retryAfterMs ?? DEFAULT_WAIT_MS;
    return new ApiError('rate_limited', 'The service asked to wait; see Retry-After.', wait);
  }
  // A code that is newer than this version is still an answer of the service.
  const isDecided =
    error instanceof ServiceRefusal && (!error.mayHaveActed || (error.hasCode && error.status < 500));
  if (isDecided) return describeRefusal(error, passed);
  const what =
    error.status === null ? 'The service does not respond' : 'The response is not one of the service';
  return new ApiError('service_unreachable', `${what}: ${error.code}.`);
}

/** The grant of an account has ended. */
export function consentRequired(): ApiError {
  const how =
    'Call POST /v1/accounts/oauth with its accountId, and send the customer to the address in the response.';
  return new ApiError('reauth_required', `The grant has ended; the customer must consent again. ${how}`);
}

function describeRefusal({ code, field, retryAfterMs }: ServiceRefusal, passed: PassedCodes): ApiError {
  if (!isErrorCode(code)) return new ApiError('service_refused', `The service rejected the call: ${code}.`);
  const sentence = passed[code];
  if (sentence !== undefined) return new ApiError(code, sentence, retryAfterMs ?? undefined);
  const about = field === undefined ? code : `${code} (${field})`;
  return new ApiError('service_refused', `The service rejected the call: ${about}. ${ERRORS[code].meaning}`);
}

/**
 * The account that a call concerns. Throws an `ApiError`: `not_found` for an unknown account,
 * `account_required` if there are several and none was specified.
 */
export async function chooseAccount(db: Queryable, accountId: string | undefined): Promise<Account> {
  const accounts = await readAccounts(db);
  const [only, ...others] = accounts;
  if (accountId === undefined && others.length > 0) {
    throw new ApiError('account_required', 'accountId: is required, because there are several accounts.');
  }
  const chosen = accountId === undefined ? only : accounts.find(({ id }) => id === accountId);
  if (chosen === undefined) throw notFound('account');
  return chosen;
}
