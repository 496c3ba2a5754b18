import { section } from './requirement.ts';

/** Part 7: errors. */
export const ERROR_CODES = section('Errors', {
  'errors.invalid_request': '400 `invalid_request`: bad input; `field` names it.',
  'errors.invalid_phone_number': '400 `invalid_phone_number`: `phoneNumber` is not digits alone.',
  'errors.invalid_webhook': '400 `invalid_webhook`: the URL is not HTTPS on a public host.',
  'errors.text_or_media': '400 `text_or_media`: not exactly one of the two.',
  'errors.idempotency_key_reuse': '400 `idempotency_key_reuse`: the same key with another body.',
  'errors.idempotency_key_invalid': '400 `idempotency_key_invalid`: the key is longer than 255 characters.',
  'errors.invalid_key': '401 `invalid_key`: the key is unknown or revoked.',
  'errors.addon_required': '402 `addon_required`: the licence of the connection lapsed.',
  'errors.license_inactive': '402 `license_inactive`: the licence of the connection lapsed.',
  'errors.ip_not_allowed': '403 `ip_not_allowed`: the address is not on the allowlist.',
  'errors.insufficient_scope': '403 `insufficient_scope`: the credential lacks the scope.',
  'errors.forbidden_portal_kind': '403 `forbidden_portal_kind`: a create in a portal workspace.',
  'errors.invalid_grant': '403 `invalid_grant`: a refusal of a create.',
  'errors.already_connected': '409 `already_connected`: the session is live.',
  'errors.not_supported_for_provider': '409 `not_supported_for_provider`: for `qr` connections alone.',
  'errors.idempotency_in_progress':
    '409 `idempotency_in_progress`: the first create is in flight; `Retry-After: 1`.',
  'errors.in_progress': '409 `in_progress`: the first send is in flight.',
  'errors.recipient_not_on_whatsapp':
    '422 `recipient_not_on_whatsapp`: the recipient has no account on the network.',
  'errors.warmup_limited': '429 `warmup_limited`: the hourly cap of a new `qr` number.',
  'errors.rate_limited': '429 `rate_limited`: the abuse limiter, or too many pairing codes.',
  'errors.send_failed': '502 `send_failed`: a delivery failed for a reason other than the recipient.',
  'errors.pairing_code_unavailable': '502 `pairing_code_unavailable`: the engine declined a pairing code.',
  'errors.client.branches-on-code': 'A client branches on the code, not only on the status.',
  'errors.client.never-retries-key': 'A client does not retry 401 `invalid_key`.',
  'errors.client.waits':
    'A client waits 1 s for a create, 5 s for a send in progress, minutes for a warm-up cap.',
  'errors.client.without-retry-after': 'A client backs off without a `Retry-After`, too.',
  'errors.generic': 'Codes of other 401, 403, 404 and 500 answers are not shown; ours have the same body.',
});
