import { section } from './requirement.ts';

/** Part 8: limits. */
export const LIMITS = section('Limits', {
  'limits.text': 'A text has at most 4096 characters.',
  'limits.media': 'A media file has at most 16 MB of base64 data.',
  'limits.page': 'A page has 1 to 100 messages; the default is 20.',
  'limits.idempotency-key':
    'An idempotency key has at most 255 characters and lasts 24 hours, per workspace.',
  'limits.pairing-codes': 'A connection can request 5 pairing codes per 15 minutes.',
  'limits.qr-rotation': 'A QR code is valid for about 20 s.',
  'limits.webhook-retries': 'A delivery has 3 attempts (0, 500 ms, 1 s) with a timeout of 10 s each.',
  'limits.signature-freshness': 'A signature is fresh for about 5 minutes.',
  'limits.send-timeout': 'A client uses a timeout of at least 180 s for a `qr` send.',
  'limits.send-humanization':
    'A `qr` send takes 1 to 7 s, or about 2.5 minutes while the session heals itself.',
  'limits.warmup': 'A new `qr` number has hourly caps for 72 hours.',
  'limits.warmup-figures':
    'The specification gives no hourly figures; ours are defined in one place and enforced.',
  'limits.trial': 'A trial lasts 7 days.',
  'limits.tokens': 'An access token lasts 15 minutes, a refresh token 30 days.',
  'limits.disconnect-detection':
    'An outage is detected within 5 minutes, or after 15 to 20 minutes when a heal is tried first.',
  'limits.read-receipts': 'Read receipts have no rate limit.',
  'limits.abuse':
    'The specification gives no thresholds for the abuse limiter; ours are defined in one place and enforced.',
});
