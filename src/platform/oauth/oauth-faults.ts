import type { ApiFault } from '../calls/api-faults.ts';
import { jsonAnswer, type OauthAnswer } from './oauth-answer.ts';

type StatusFault = Extract<ApiFault, { readonly type: 'status' }>;

/** The error that a status stands for when a fault names none. */
function usualError(status: number): string {
  if (status === 503 || status === 429) return 'temporarily_unavailable';
  if (status === 401) return 'invalid_client';
  return status < 500 ? 'invalid_request' : 'server_error';
}

/** The answer that a fault makes up. */
export function answerOauthFault({
  code: status,
  error = usualError(status),
  retryAfter,
}: StatusFault): OauthAnswer {
  const retry = retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) };
  const body = { error, error_description: 'a fault of the sandbox' };
  return { ...jsonAnswer(status, body, retry), madeUp: error };
}
