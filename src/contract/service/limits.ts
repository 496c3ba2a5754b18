const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * Every figure of the service that a program on either side needs. Names ending in `Ms` are milliseconds,
 * names ending in `Seconds` are seconds, and all others are counts. Implements `Limits` and the figures of
 * `Delivery and signature` and `Rules per endpoint`.
 */
export const LIMITS = {
  /** Maximum length of the text of a send, in Unicode code points. */
  textCharacters: 4096,
  /** Maximum length of `media.data` in a send, in characters of base64. */
  mediaBase64Characters: 16 * 1024 * 1024,
  pageSizeMin: 1,
  pageSizeMax: 100,
  pageSizeDefault: 20,
  idempotencyKeyCharacters: 255,
  idempotencyKeyLifetimeMs: 24 * hour,
  /** `Retry-After` of 409 `idempotency_in_progress`. */
  idempotencyInProgressRetryAfterSeconds: 1,
  /** How long a client waits after 409 `in_progress` without a `Retry-After`. */
  sendInProgressBackoffMs: 5 * second,
  pairingCodesPerWindow: 5,
  pairingCodeWindowMs: 15 * minute,
  qrRotationMs: 20 * second,
  qrPollMinMs: 3 * second,
  qrPollMaxMs: 5 * second,
  webhookAttempts: 3,
  /** Wait before each attempt of one event, counted from the end of the previous attempt. */
  webhookAttemptDelaysMs: [0, 500, 1_000],
  webhookAttemptTimeoutMs: 10 * second,
  /** How far the timestamp of a signature may differ from the receiver's clock, in either direction. */
  signatureFreshnessMs: 5 * minute,
  sendClientTimeoutMs: 180 * second,
  sendHumanizedMinMs: 1 * second,
  sendHumanizedMaxMs: 7 * second,
  sendLongTextMaxMs: 20 * second,
  sendSelfHealMaxMs: 150 * second,
  cloudApiSendMs: 1 * second,
  warmupMs: 72 * hour,
  trialMs: 7 * day,
  accessTokenLifetimeMs: 15 * minute,
  refreshTokenLifetimeMs: 30 * day,
  disconnectDetectionMs: 5 * minute,
  disconnectDetectionHealMinMs: 15 * minute,
  disconnectDetectionHealMaxMs: 20 * minute,
  reconcileIntervalMinMs: 30 * second,
  reconcileIntervalMaxMs: 60 * second,
} as const;
