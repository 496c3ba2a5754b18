import { section } from './requirement.ts';

/** Part 7: errors. */
export const ERROR_CODES = section('Errors', {
  'errors.invalid_request': '400 `invalid_request`: bad input; `field` names the key.',
  'errors.invalid_phone_number':
    '400 `invalid_phone_number`: `phoneNumber` contains something other than digits.',
  'errors.invalid_webhook': '400 `invalid_webhook`: the URL is not HTTPS on a public host.',
  'errors.text_or_media': '400 `text_or_media`: the body does not have exactly one of `text` and `media`.',
  'errors.idempotency_key_reuse': '400 `idempotency_key_reuse`: the same key was used with a different body.',
  'errors.idempotency_key_invalid': '400 `idempotency_key_invalid`: the key is longer than 255 characters.',
  'errors.invalid_key': '401 `invalid_key`: the key is unknown or revoked.',
  'errors.addon_required': '402 `addon_required`: the license of the connection has lapsed.',
  'errors.license_inactive': '402 `license_inactive`: the license of the connection has lapsed.',
  'errors.ip_not_allowed': "403 `ip_not_allowed`: the address is not on the key's allowlist.",
  'errors.insufficient_scope': '403 `insufficient_scope`: the credential lacks the scope.',
  'errors.forbidden_portal_kind': '403 `forbidden_portal_kind`: `POST /connections` in a portal workspace.',
  'errors.invalid_grant': '403 `invalid_grant`: one of the reasons to reject `POST /connections`.',
  'errors.already_connected': '409 `already_connected`: the session is live; there is nothing to pair.',
  'errors.not_supported_for_provider':
    '409 `not_supported_for_provider`: the operation is for `qr` connections only.',
  'errors.idempotency_in_progress':
    '409 `idempotency_in_progress`: the first create is still in flight; `Retry-After: 1`.',
  'errors.in_progress': '409 `in_progress`: the first send is still in flight.',
  'errors.recipient_not_on_whatsapp':
    '422 `recipient_not_on_whatsapp`: the recipient has no account on the network.',
  'errors.warmup_limited': '429 `warmup_limited`: a new `qr` number reached its hourly cap.',
  'errors.rate_limited': '429 `rate_limited`: the abuse limiter or the pairing-code cap was reached.',
  'errors.send_failed': '502 `send_failed`: the delivery failed for a reason other than the recipient.',
  'errors.pairing_code_unavailable': '502 `pairing_code_unavailable`: the engine declined a pairing code.',
  'errors.client.branches-on-code': 'A client branches on the code, not only on the status.',
  'errors.client.never-retries-key': 'A client does not retry 401 `invalid_key`.',
  'errors.client.waits':
    'A client waits 1 s for a create, 5 s for a send in progress and minutes for a warm-up cap.',
  'errors.client.without-retry-after': 'A client backs off even without `Retry-After`.',
  'errors.generic':
    'The specification gives no codes for other 401, 403, 404 and 500 responses; ours use the same body.',
});
