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
