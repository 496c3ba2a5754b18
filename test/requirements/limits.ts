import { section } from './requirement.ts';

/** Part 8: limits. */
export const LIMITS = section('Limits', {
  'limits.text': 'A text has at most 4096 characters.',
  'limits.media': 'A file has at most 16 MB of base64.',
  'limits.page': 'A page has 1 to 100 messages, 20 unless told.',
  'limits.idempotency-key':
    'An idempotency key has at most 255 characters and lives for 24 hours, per workspace.',
  'limits.pairing-codes': 'A connection gets 5 pairing codes in 15 minutes.',
  'limits.qr-rotation': 'A pairing picture is good for about 20 s.',
  'limits.webhook-retries': 'A delivery has 3 attempts (0, 500 ms, 1 s) of 10 s each.',
  'limits.signature-freshness': 'A signature is fresh for about 5 minutes.',
  'limits.send-timeout': 'A client waits at least 180 s for a `qr` send.',
  'limits.send-humanization': 'A `qr` send takes 1 to 7 s, and about 2.5 minutes while a session heals.',
  'limits.warmup': 'A new `qr` number is capped by the hour for 72 hours.',
  'limits.warmup-figures': 'Hourly figures are not shown; ours are named in one place and hold.',
  'limits.trial': 'A trial lasts 7 days.',
  'limits.tokens': 'An access token lives 15 minutes, a refresh token 30 days.',
  'limits.disconnect-detection':
    'An outage is found within 5 minutes, or after 15 to 20 minutes when healing is tried.',
  'limits.read-receipts': 'Read receipts have no rate limit.',
  'limits.abuse': 'Thresholds of the abuse limiter are not shown; ours are named in one place and hold.',
});
