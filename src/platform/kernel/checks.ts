import type { ErrorCode } from '../../contract/service/errors.ts';

/**
 * The checks of a call, in the order that all endpoints keep. `route` is first and refuses addresses that do not
 * exist; `network` is last and refuses what the phone network declines. [choice.order]
 */
export const CHECKS = [
  'route',
  'credential',
  'address',
  'scope',
  'workspace_kind',
  'shape',
  'connection',
  'license',
  'provider',
  'state',
  'rate',
  'network',
] as const;
export type Check = (typeof CHECKS)[number];

/** The checks of OAuth requests, for the trace of a call. Each endpoint has some of them, in its own order. */
export type OauthCheck =
  | 'method'
  | 'form'
  | 'client'
  | 'redirect_uri'
  | 'parameters'
  | 'challenge'
  | 'scope'
  | 'resource'
  | 'connections'
  | 'grant_type'
  | 'grant'
  | 'verifier'
  | 'page'
  | 'consent';

/** The check that refuses with a code, unless the error names another; null: no check, an internal error. */
export const CHECK_OF_CODE: Readonly<Record<ErrorCode, Check | null>> = {
  method_not_allowed: 'route',
  invalid_key: 'credential',
  invalid_token: 'credential',
  ip_not_allowed: 'address',
  insufficient_scope: 'scope',
  forbidden_portal_kind: 'workspace_kind',
  invalid_request: 'shape',
  invalid_phone_number: 'shape',
  invalid_webhook: 'shape',
  text_or_media: 'shape',
  idempotency_key_invalid: 'shape',
  idempotency_key_reuse: 'shape',
  payload_too_large: 'shape',
  not_found: 'connection',
  invalid_grant: 'connection',
  addon_required: 'license',
  license_inactive: 'license',
  not_supported_for_provider: 'provider',
  already_connected: 'state',
  idempotency_in_progress: 'state',
  in_progress: 'state',
  warmup_limited: 'rate',
  rate_limited: 'rate',
  recipient_not_on_whatsapp: 'network',
  send_failed: 'network',
  pairing_code_unavailable: 'network',
  internal_error: null,
};

const ASK_OWNER = 'Do not retry. Tell the user';

/** What a model should do about a refusal of a tool, whose caller was admitted. */
export const ADVICE_OF_CODE: Readonly<Partial<Record<ErrorCode, string>>> = {
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
    'The service failed. Repeat the call once with the same arguments. If it fails again, tell the user.',
  idempotency_key_invalid: 'Pass an `idempotencyKey` of at most 255 characters.',
  idempotency_key_reuse:
    'This `idempotencyKey` belongs to another message. Nothing was sent now. Omit the key, or pass one that was not used before.',
  invalid_phone_number: 'Pass the number as international digits only, without `+` and without spaces.',
};
