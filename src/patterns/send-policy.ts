/**
 * The rule: a send is repeated only while that cannot send it twice.
 *
 * A refusal means that nothing went out. Some refusals pass with time, and the same send is repeated with the
 * same idempotency key; one that concerns the credential holds the sends of the account until it is replaced; the
 * others are final. An answer that was lost says nothing: the message may be out.
 * A text is then repeated with its key, and the service gives the first answer again. The key is documented for
 * texts alone, so a file is never repeated blindly: whether it went out is looked up among the messages.
 *
 * The service forgets a key after 24 hours. No attempt is made later than 23 hours after the first one.
 *
 * The mistake that this prevents: a retry middleware that repeats a POST after a time-out, and a customer who
 * gets the same message twice.
 */

/** What an error code means for a send. */
export type SendRule =
  /** Nothing went out, and the same send cannot succeed before somebody changes something. */
  | { readonly next: 'reject' }
  /** Nothing went out. Repeat after `Retry-After`; without one after `firstMs`, doubling up to `longestMs`. */
  | { readonly next: 'repeat'; readonly firstMs: number; readonly longestMs: number }
  /** An earlier attempt is still under way: the message may be out. Repeat with the same key. */
  | { readonly next: 'await'; readonly firstMs: number; readonly longestMs: number }
  /** Nothing went out, and no send with this credential can succeed: the credential is at fault, not the send. */
  | { readonly next: 'hold' }
  /** The service broke down on the way: as if there was no answer. */
  | { readonly next: 'lost' };

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

const REJECT = { next: 'reject' } as const;
const HOLD = { next: 'hold' } as const;
const MISCONFIGURED = { next: 'repeat', firstMs: minute, longestMs: 15 * minute } as const;

/** A rule for each error code of the service. A code that is missing here is decided by its HTTP status. */
export const SEND_POLICY = {
  invalid_request: REJECT,
  invalid_phone_number: REJECT,
  invalid_webhook: REJECT,
  text_or_media: REJECT,
  idempotency_key_reuse: REJECT,
  idempotency_key_invalid: REJECT,
  invalid_key: HOLD,
  addon_required: REJECT,
  license_inactive: REJECT,
  /** The key is good, and set up wrongly: somebody puts that right, or another machine is let in. */
  ip_not_allowed: MISCONFIGURED,
  insufficient_scope: MISCONFIGURED,
  forbidden_portal_kind: REJECT,
  invalid_grant: REJECT,
  already_connected: REJECT,
  not_supported_for_provider: REJECT,
  /** Of creating connections; a send that meets it is in the same position as with `in_progress`. */
  idempotency_in_progress: { next: 'await', firstMs: second, longestMs: 30 * second },
  in_progress: { next: 'await', firstMs: 5 * second, longestMs: 30 * second },
  recipient_not_on_whatsapp: REJECT,
  warmup_limited: { next: 'repeat', firstMs: 5 * minute, longestMs: 15 * minute },
  rate_limited: { next: 'repeat', firstMs: 30 * second, longestMs: 5 * minute },
  send_failed: { next: 'repeat', firstMs: 5 * second, longestMs: 5 * minute },
  pairing_code_unavailable: REJECT,
  /** The access token ran out: the next attempt takes a fresh one. */
  invalid_token: { next: 'repeat', firstMs: second, longestMs: minute },
  not_found: REJECT,
  method_not_allowed: REJECT,
  payload_too_large: REJECT,
  internal_error: { next: 'lost' },
} as const satisfies Readonly<Record<string, SendRule>>;

/** The codes that are decided. */
export type SendErrorCode = keyof typeof SEND_POLICY;

/** How an attempt ended. */
export type SendOutcome =
  /** `stored` is false in the degraded case: delivered, and the service kept no record. */
  | { readonly kind: 'accepted'; readonly stored: boolean }
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly code: string;
      /** What `Retry-After` said, in milliseconds; null: nothing. */
      readonly retryAfterMs: number | null;
    }
  /** No connection was made: the service has not heard of it. */
  | { readonly kind: 'not_sent' }
  /** No answer, or one that cannot be read. */
  | { readonly kind: 'lost' };

/** What is known of a send when its attempt ends. Times in epoch milliseconds. */
export interface SendSituation {
  readonly carries: 'text' | 'media';
  /** Attempts so far, this one included. */
  readonly attempts: number;
  readonly firstAttemptAt: number;
  readonly now: number;
  /** The answer of an earlier attempt was lost, and no answer has settled it since. */
  readonly inDoubt: boolean;
  /** Between 0 and 1; spreads repeats. */
  readonly random: number;
}

/** What comes next. `inDoubt` goes into the situation of the next attempt. */
export type SendStep =
  /** Certain: it went out and the service has it on record. */
  | { readonly next: 'sent' }
  /** Certain: it went out, and no record will ever show it. Never repeat it. */
  | { readonly next: 'delivered_not_stored' }
  /** Certain: nothing went out. */
  | { readonly next: 'rejected' }
  /** It may have gone out. Only a person may decide to send it again. */
  | { readonly next: 'unknown' }
  /** Attempt it again with the same key; what follows on the same connection waits behind it. */
  | { readonly next: 'repeat'; readonly waitMs: number; readonly inDoubt: boolean }
  /**
   * This attempt sent nothing, and none will before the credential changes. Keep the send, and make no call for the
   * account until then. Afterwards attempt it again: with the same key, within its time, if it is in doubt; else as
   * a new send would be.
   */
  | { readonly next: 'hold'; readonly inDoubt: boolean }
  /** Do not attempt it again. Look for it among the messages of the service. */
  | { readonly next: 'look_up' };

/** No attempt later than this after the first one: the service forgets the key after 24 hours. */
export const LAST_ATTEMPT_AFTER_MS = 23 * hour;

/** No repeat comes sooner than this, whatever `Retry-After` says. */
const SHORTEST_WAIT_MS = second;

const AFTER_LOSS = { firstMs: second, longestMs: 5 * second };
/** A service that is away for long is asked less often: after a hundredth of the time that it has been away. */
const LONG_AWAY = { share: 0.01, longestMs: 5 * minute };
/** Trying again risks nothing, and nobody tells when the service is back. */
const NOT_SENT = { firstMs: second, longestMs: 5 * second };

/** Decides what follows an attempt. Pure. */
export function decideSend(outcome: SendOutcome, situation: SendSituation): SendStep {
  if (outcome.kind === 'accepted') return { next: outcome.stored ? 'sent' : 'delivered_not_stored' };
  if (outcome.kind === 'lost') return afterLoss(null, situation);
  if (outcome.kind === 'not_sent') return repeat(NOT_SENT, null, situation, situation.inDoubt);
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

/** The rule for a code. One that is newer than this table goes by its status. */
export function ruleFor(code: string, status: number): SendRule {
  if (Object.hasOwn(SEND_POLICY, code)) return SEND_POLICY[code as SendErrorCode];
  if (status === 401) return HOLD;
  if (status === 429) return SEND_POLICY.rate_limited;
  return status >= 500 || status === 408 ? { next: 'lost' } : REJECT;
}

/** What a send becomes when its time is over before it could be attempted again. */
export function giveUp(inDoubt: boolean): { readonly next: 'rejected' | 'unknown' } {
  // A refusal of this attempt says nothing of an earlier one whose answer was lost.
  return { next: inDoubt ? 'unknown' : 'rejected' };
}

function afterLoss(askedMs: number | null, situation: SendSituation): SendStep {
  if (situation.carries === 'media') return { next: 'look_up' };
  const growing = (situation.now - situation.firstAttemptAt) * LONG_AWAY.share;
  const longestMs = Math.min(Math.max(AFTER_LOSS.longestMs, growing), LONG_AWAY.longestMs);
  return repeat({ ...AFTER_LOSS, longestMs }, askedMs, situation, true);
}

function repeat(
  { firstMs, longestMs }: { readonly firstMs: number; readonly longestMs: number },
  askedMs: number | null,
  situation: SendSituation,
  inDoubt: boolean,
): SendStep {
  const { attempts, firstAttemptAt, now, random } = situation;
  const own = Math.min(firstMs * 2 ** Math.min(attempts - 1, 20), longestMs);
  // A `Retry-After: 0` that never ends must not become a loop without a pause.
  const least = askedMs === null ? own : Math.max(askedMs, SHORTEST_WAIT_MS);
  // Up to a fifth more, so that many sends do not come back at once.
  const waitMs = Math.round(least * (1 + random / 5));
  if (now + waitMs > firstAttemptAt + LAST_ATTEMPT_AFTER_MS) return giveUp(inDoubt);
  return { next: 'repeat', waitMs, inDoubt };
}

/** Failures that come before the first byte of a request is written. */
const BEFORE_REQUEST: ReadonlySet<unknown> = new Set([
  // The address cannot be read.
  'ERR_INVALID_URL',
  'ERR_INVALID_PROTOCOL',
  'ERR_UNESCAPED_CHARACTERS',
  // No name, no route, nobody listening.
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

/** `fetch` and `ky` wrap what undici threw. */
const DEEPEST_CAUSE = 5;

/**
 * What a failed `fetch`, undici or ky call means when there was no answer. Only a failure that is certain to come
 * before the request was written is `not_sent`. Every other one, and your own time-out, is `lost`.
 * Holds for calls that follow no redirect (`redirect: 'manual'`): behind one, the address that it leads to may be
 * unreachable though the service has read the request.
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

/** Longest wait that is believed; a misconfigured proxy must not stop sends for a year. */
const LONGEST_RETRY_AFTER_MS = 24 * hour;

// The three forms of an HTTP date begin with a weekday and mean GMT; the oldest form does not name it.
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;

/**
 * Reads a `Retry-After` header, in seconds or as an HTTP date, into milliseconds from `now`; at most a day.
 * A date is taken relative to the answer's own `Date` when there is one, so that a wrong clock on this side
 * does not matter. Null when it is absent or malformed: it is never guaranteed.
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

/** Reads an HTTP date into epoch milliseconds; null when it is none. */
export function readHttpDate(value: string): number | null {
  if (!HTTP_DATE.test(value)) return null;
  const at = Date.parse(value.endsWith('GMT') ? value : `${value} GMT`);
  return Number.isNaN(at) ? null : at;
}
