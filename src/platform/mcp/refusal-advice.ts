import type { ErrorCode } from '../../contract/service/errors.ts';
import type { PlatformError } from '../kernel/platform-error.ts';

const ASK_OWNER = 'Do not retry. Tell the user';
const NOT_BY_TOOLS = 'This should not happen with the tools of this server. Do not retry; tell the user.';

/** What a model should do about each refusal. A new error code does not compile until it is added here. */
const ADVICE: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'Correct the argument and call again.',
  text_or_media: 'Pass `text` and no media.',
  not_found:
    'There is no such connection, or you may not use it. Call list_messaging_connections and use an `id` from its answer.',
  addon_required: `${ASK_OWNER} that this connection needs its add-on renewed in the portal, or use another connection.`,
  license_inactive: `${ASK_OWNER} that the license of this connection has lapsed and its owner has to renew it, or use another connection.`,
  in_progress:
    'This message is already being sent. Do not resend it; call again in a few seconds to get the result.',
  recipient_not_on_whatsapp:
    'This number has no account on the network, so no message can reach it. Do not retry; check the number with the user.',
  warmup_limited:
    'This number is new and has reached its limit for the hour. Nothing was sent. Wait a few minutes before you call again, or tell the user.',
  rate_limited:
    'Too many messages in a short time. Nothing was sent. Wait half a minute before you call again.',
  send_failed:
    'The message was not sent, for a reason other than the recipient. Wait a few seconds and repeat the call once with the same arguments. If it fails again, tell the user that the phone of this connection may have to be paired again.',
  internal_error:
    'The service failed. Repeat the call once with the same arguments; the message will not be sent twice. If it fails again, tell the user.',
  invalid_key: `${ASK_OWNER} to connect this app to the service again.`,
  invalid_token: `${ASK_OWNER} to connect this app to the service again.`,
  ip_not_allowed: `${ASK_OWNER} that the service does not allow calls from this address.`,
  insufficient_scope: `${ASK_OWNER} to allow this app to do that, by connecting it again.`,
  invalid_grant: `${ASK_OWNER} that this app may no longer use any connection and has to be connected again.`,
  already_connected: NOT_BY_TOOLS,
  forbidden_portal_kind: NOT_BY_TOOLS,
  idempotency_in_progress: NOT_BY_TOOLS,
  idempotency_key_invalid: 'Pass an `idempotencyKey` of at most 255 characters.',
  idempotency_key_reuse:
    'This `idempotencyKey` belongs to another message. Nothing was sent now. Omit the key, or pass one that was not used before.',
  invalid_phone_number: 'Pass the number as international digits only, without `+` and without spaces.',
  invalid_webhook: NOT_BY_TOOLS,
  method_not_allowed: NOT_BY_TOOLS,
  not_supported_for_provider: NOT_BY_TOOLS,
  pairing_code_unavailable: NOT_BY_TOOLS,
  payload_too_large: 'Send less in one call.',
};

/**
 * A refusal as text for a model: `code: what is wrong, what to do`. Never repeats the input.
 * [choice.tools.refusal]
 */
export function adviseRefusal({ code, field, hint, retryAfterSeconds }: PlatformError): string {
  const subject = field === 'body' ? 'the arguments' : `\`${field}\``;
  const wrong = field === undefined ? '' : `${subject} ${hint ?? 'are invalid'}. `;
  const wait = retryAfterSeconds === undefined ? '' : ` Wait at least ${retryAfterSeconds} s.`;
  return `${code}: ${wrong}${ADVICE[code]}${wait}`;
}
