/**
 * The rule: a send is retried only if that cannot send it twice.
 *
 * A rejection means that nothing was sent. Some rejections are temporary, and the same send is retried with
 * the same idempotency key; one that concerns the credential holds the sends of the account until the
 * credential is replaced; all others are final. A lost response proves nothing: the message may have been
 * sent. A text is then retried with its key, and the service returns the first response again. The key is
 * documented only for texts, so a file is never retried blindly: a person decides.
 *
 * Only an error code of the service is a rejection. A 404, a redirect to a login or a 403 without such a code comes
 * from a proxy that is restarting or misconfigured, so the service has not answered: that is a lost response.
 *
 * The service forgets a key after 24 hours. No attempt is made later than 23 hours after the first one.
 *
 * The mistake that this prevents: a retry middleware repeats a POST after a timeout, and a customer gets the
 * same message twice.
 */

/** What an error code means for a send. */
export type SendRule =
  /** Nothing was sent, and the same send cannot succeed until somebody changes something. */
  | { readonly next: 'reject' }
  /** Nothing was sent. Retry after `Retry-After`; without it after `firstMs`, doubling up to `longestMs`. */
  | { readonly next: 'repeat'; readonly firstMs: number; readonly longestMs: number }
  /** An earlier attempt is still in progress: the message may have been sent. Retry with the same key. */
  | { readonly next: 'await'; readonly firstMs: number; readonly longestMs: number }
  /**
   * Nothing was sent, and no send can succeed with this credential: the credential is the problem, not the
   * send.
   */
  | { readonly next: 'hold' }
  /** The service failed while handling the call, or something else answered: treated like a lost response. */
  | { readonly next: 'lost' };

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

const REJECT = { next: 'reject' } as const;
const HOLD = { next: 'hold' } as const;
const MISCONFIGURED = { next: 'repeat', firstMs: minute, longestMs: 15 * minute } as const;

/**
 * A rule for each error code of the service, whatever the HTTP status. See `ruleFor` for all other responses.
 * [errors.client.branches-on-code]
 */
export const SEND_POLICY = {
  invalid_request: REJECT,
  invalid_phone_number: REJECT,
  invalid_webhook: REJECT,
  text_or_media: REJECT,
  idempotency_key_reuse: REJECT,
  idempotency_key_invalid: REJECT,
  invalid_key: HOLD, // [errors.client.never-retries-key]
  addon_required: REJECT,
  license_inactive: REJECT,
  /** The key is valid but misconfigured: somebody must correct it, or allow another address. */
  ip_not_allowed: MISCONFIGURED,
  insufficient_scope: MISCONFIGURED,
  forbidden_portal_kind: REJECT,
  invalid_grant: REJECT,
  already_connected: REJECT,
  not_supported_for_provider: REJECT,
  /** A code of `POST /connections`; for a send it means the same as `in_progress`. */
  // [errors.client.waits]
  idempotency_in_progress: { next: 'await', firstMs: second, longestMs: 30 * second },
  in_progress: { next: 'await', firstMs: 5 * second, longestMs: 30 * second }, // [errors.client.waits]
  recipient_not_on_whatsapp: REJECT,
  warmup_limited: { next: 'repeat', firstMs: 5 * minute, longestMs: 15 * minute }, // [errors.client.waits]
  rate_limited: { next: 'repeat', firstMs: 30 * second, longestMs: 5 * minute },
  send_failed: { next: 'repeat', firstMs: 5 * second, longestMs: 5 * minute },
  pairing_code_unavailable: REJECT,
  /** Refused again with a new token, because the caller refreshes once after a 401: another refresh soon is of no use. */
  invalid_token: MISCONFIGURED,
  not_found: REJECT,
  method_not_allowed: REJECT,
  payload_too_large: REJECT,
  internal_error: { next: 'lost' },
} as const satisfies Readonly<Record<string, SendRule>>;

/** The codes that have a rule. */
export type SendErrorCode = keyof typeof SEND_POLICY;

/** How an attempt ended. */
export type SendOutcome =
  /** `stored` is false in the degraded case: delivered, but the service kept no record. */
  | { readonly kind: 'accepted'; readonly stored: boolean }
  | {
      readonly kind: 'refused';
      readonly status: number;
      /** `error` of the body; any text that is no code of the service, such as `''`, if the body has none. */
      readonly code: string;
      /** The value of `Retry-After` in milliseconds; null if absent. */
      readonly retryAfterMs: number | null;
    }
  /** No connection was made: the service has not received the send. */
  | { readonly kind: 'not_sent' }
  /** No response, or one that cannot be read. */
  | { readonly kind: 'lost' };

/** What is known about a send when its attempt ends. Times in epoch milliseconds. */
export interface SendSituation {
  readonly carries: 'text' | 'media';
  /** Number of attempts so far, including this one. */
  readonly attempts: number;
  readonly firstAttemptAt: number;
  readonly now: number;
  /** The response of an earlier attempt was lost, and no later response has settled its outcome. */
  readonly inDoubt: boolean;
  /** Between 0 and 1; spreads retries. */
  readonly random: number;
}

/** What to do next. Pass `inDoubt` to the situation of the next attempt. */
export type SendStep =
  /** Certain: it was sent, and the service has a record of it. */
  | { readonly next: 'sent' }
  /** Certain: it was sent, and there will never be a record of it. Never retry it. */
  | { readonly next: 'delivered_not_stored' }
  /** Certain: nothing was sent. */
  | { readonly next: 'rejected' }
  /** It may have been sent. Only a person may decide to send it again. */
  | { readonly next: 'unknown' }
  /** Retry it with the same key; later sends of the same connection wait for it. */
  | { readonly next: 'repeat'; readonly waitMs: number; readonly inDoubt: boolean }
  /**
   * This attempt sent nothing, and no attempt will until the credential changes. Keep the send, and make no
   * calls for the account until then. Afterwards retry it: if it is in doubt, with the same key and within
   * its time; otherwise like a new send.
   */
  | { readonly next: 'hold'; readonly inDoubt: boolean };

/** No attempt is made later than this after the first one: the service forgets the key after 24 hours. */
export const LAST_ATTEMPT_AFTER_MS = 23 * hour;

/**
 * Minimum wait before a retry, doubling with each attempt, whatever `Retry-After` says. It is also the wait after an
 * attempt without an answer: retrying is safe, and nothing announces when the service is back.
 */
const SHORTEST_WAIT = { firstMs: second, longestMs: 5 * second };
/** A service that has been away for long is called less often: after a hundredth of the time that it has been away. */
const LONG_AWAY = { share: 0.01, longestMs: 5 * minute };

/** Decides what follows an attempt. Pure. */
export function decideSend(outcome: SendOutcome, situation: SendSituation): SendStep {
  // [messages.send.degraded-no-retry]
  if (outcome.kind === 'accepted') return { next: outcome.stored ? 'sent' : 'delivered_not_stored' };
  if (outcome.kind === 'lost') return afterLoss(null, situation);
  if (outcome.kind === 'not_sent') return repeat(SHORTEST_WAIT, null, situation, situation.inDoubt);
  const rule = ruleFor(outcome.code, outcome.status);
  switch (rule.next) {
    case 'reject':
      return giveUp(situation.inDoubt);
    case 'hold':
      return { next: 'hold', inDoubt: situation.inDoubt };
    case 'repeat':
      return repeat(rule, outcome.retryAfterMs, situation, situation.inDoubt);
    case 'await':
      return repeat(rule, outcome.retryAfterMs, situation, true);
    case 'lost':
      return afterLoss(outcome.retryAfterMs, situation);
  }
}

/**
 * The rule for a response that is not a success. Without a code of the table, two statuses are clear, whoever
 * answered: a body that is too large stays too large, and a rate limit asks to wait. Everything else is `lost`.
 */
export function ruleFor(code: string, status: number): SendRule {
  if (Object.hasOwn(SEND_POLICY, code)) return SEND_POLICY[code as SendErrorCode];
  if (status === 413) return REJECT;
  return status === 429 ? SEND_POLICY.rate_limited : { next: 'lost' };
}

/** The result of a send whose time runs out before it can be retried. */
export function giveUp(inDoubt: boolean): { readonly next: 'rejected' | 'unknown' } {
  // The rejection of this attempt says nothing about an earlier one whose response was lost.
  return { next: inDoubt ? 'unknown' : 'rejected' };
}

function afterLoss(askedMs: number | null, situation: SendSituation): SendStep {
  if (situation.carries === 'media') return { next: 'unknown' };
  // A proxy that announces a day of maintenance does not know when the service is back.
  const asked = askedMs === null ? null : Math.min(askedMs, LONG_AWAY.longestMs);
  const growing = (situation.now - situation.firstAttemptAt) * LONG_AWAY.share;
  const longestMs = Math.min(Math.max(SHORTEST_WAIT.longestMs, growing), LONG_AWAY.longestMs);
  return repeat({ ...SHORTEST_WAIT, longestMs }, asked, situation, true);
}

function repeat(
  { firstMs, longestMs }: { readonly firstMs: number; readonly longestMs: number },
  askedMs: number | null,
  situation: SendSituation,
  inDoubt: boolean,
): SendStep {
  const { attempts, firstAttemptAt, now, random } = situation;
  // [errors.client.without-retry-after]
  const grown = 2 ** Math.min(attempts - 1, 20);
  // An endless `Retry-After: 0` must not become a loop without waits.
  const shortest = Math.min(SHORTEST_WAIT.firstMs * grown, SHORTEST_WAIT.longestMs);
  const leftMs = firstAttemptAt + LAST_ATTEMPT_AFTER_MS - now;
  // If a request to wait for longer ended the send, the next one would call at once, and so on. `NaN`, which
  // `Number()` makes of a date, would be no wait at all.
  const asked =
    askedMs === null || Number.isNaN(askedMs) ? null : Math.max(Math.min(askedMs, leftMs * 0.8), shortest);
  // Up to a fifth more, so that many sends do not retry at the same moment.
  const waitMs = Math.round((asked ?? Math.min(firstMs * grown, longestMs)) * (1 + random / 5));
  if (waitMs > leftMs) return giveUp(inDoubt);
  return { next: 'repeat', waitMs, inDoubt };
}

/** Failures that occur before the first byte of a request is written. */
const BEFORE_REQUEST: ReadonlySet<unknown> = new Set([
  // The address cannot be read.
  'ERR_INVALID_URL',
  'ERR_INVALID_PROTOCOL',
  'ERR_UNESCAPED_CHARACTERS',
  // The name cannot be resolved, there is no route, or no server listens.
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ERR_SOCKET_CONNECTION_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  // The certificate is not trusted. Other failures of TLS may come after the request.
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
/** Steps of the operating system and of DNS that come before it. */
const BEFORE_REQUEST_CALLS = /^(?:connect|getaddrinfo|query\w+)$/;

/** `fetch` and `ky` wrap the error of undici. */
const DEEPEST_CAUSE = 5;

/**
 * Classifies a failed `fetch`, undici or ky call that returned no response. Only a failure that certainly occurred
 * before the request was written is `not_sent`. Every other failure, including your own timeout, is `lost`.
 * Valid for calls that do not follow redirects (`redirect: 'manual'`): after a redirect, the new address may be
 * unreachable although the service has read the request.
 */
export function classifyFailure(error: unknown): { readonly kind: 'not_sent' | 'lost' } {
  return { kind: isBeforeRequest(error, 0) ? 'not_sent' : 'lost' };
}

function isBeforeRequest(error: unknown, depth: number): boolean {
  if (!(error instanceof Error) || depth === DEEPEST_CAUSE) return false;
  // A name has several addresses, and each of them failed.
  if (error instanceof AggregateError) {
    return error.errors.length > 0 && error.errors.every((each) => isBeforeRequest(each, depth + 1));
  }
  const syscall = String(Reflect.get(error, 'syscall'));
  // The route was lost under an open connection.
  if (syscall === 'read' || syscall === 'write') return false;
  if (BEFORE_REQUEST_CALLS.test(syscall) || BEFORE_REQUEST.has(Reflect.get(error, 'code'))) return true;
  return isBeforeRequest(error.cause, depth + 1);
}

/** Maximum wait that is accepted; a misconfigured proxy must not stop sends for a year. */
const LONGEST_RETRY_AFTER_MS = 24 * hour;

// The three forms of an HTTP date start with a weekday and mean GMT; the oldest form does not state it.
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;

/**
 * Parses a `Retry-After` header, in seconds or as an HTTP date, into milliseconds from `now`; at most a day.
 * A date is interpreted relative to the response's own `Date` if there is one, so that a wrong local clock
 * does not matter. Null if the header is absent or malformed: it is never guaranteed.
 */
export function readRetryAfter(
  headers: { readonly get: (name: string) => string | null },
  now: number,
): number | null {
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,9}$/.test(value)) return Math.min(Number(value) * second, LONGEST_RETRY_AFTER_MS);
  const at = readHttpDate(value);
  if (at === null) return null;
  const sentAt = readHttpDate(headers.get('date') ?? '') ?? now;
  return Math.min(Math.max(0, at - sentAt), LONGEST_RETRY_AFTER_MS);
}

/** Parses an HTTP date into epoch milliseconds; null if it is not one. */
export function readHttpDate(value: string): number | null {
  if (!HTTP_DATE.test(value)) return null;
  const at = Date.parse(value.endsWith('GMT') ? value : `${value} GMT`);
  return Number.isNaN(at) ? null : at;
}
