const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * Every figure of the service that a program on either side has to know.
 * Names ending in `Ms` are milliseconds, in `Seconds` seconds; all others are counts.
 * Implements `Limits` and the figures of `Delivery and signature` and `Rules per endpoint`.
 */
export const LIMITS = {
  /** Longest text of a send, in Unicode code points. */
  textCharacters: 4096,
  /** Largest `media.data` of a send, in characters of base64. */
  mediaBase64Characters: 16 * 1024 * 1024,
  pageSizeMin: 1,
  pageSizeMax: 100,
  pageSizeDefault: 20,
  idempotencyKeyCharacters: 255,
  idempotencyKeyLifetimeMs: 24 * hour,
  /** `Retry-After` of 409 `idempotency_in_progress`. */
  idempotencyInProgressRetryAfterSeconds: 1,
  /** Wait of a client that got 409 `in_progress` without a `Retry-After`. */
  sendInProgressBackoffMs: 5 * second,
  pairingCodesPerWindow: 5,
  pairingCodeWindowMs: 15 * minute,
  qrRotationMs: 20 * second,
  qrPollMinMs: 3 * second,
  qrPollMaxMs: 5 * second,
  webhookAttempts: 3,
  /** Wait before each attempt of one event; the later ones count from the end of the attempt before. */
  webhookAttemptDelaysMs: [0, 500, 1_000],
  webhookAttemptTimeoutMs: 10 * second,
  /** How far a signature's timestamp may lie from the receiver's clock, on either side. */
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
