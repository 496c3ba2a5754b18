const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * Every figure of the service that a program on either side needs. Names ending in `Ms` are milliseconds,
 * names ending in `Seconds` are seconds, and all others are counts.
 */
export const LIMITS = {
  /** Maximum length of the text of a send, in Unicode code points. */
  textCharacters: 4096, // [limits.text]
  /** Maximum length of `media.data` in a send, in characters of base64. */
  mediaBase64Characters: 16 * 1024 * 1024, // [limits.media] [choice.media.characters]
  pageSizeMin: 1, // [limits.page] [messages.list.limit]
  pageSizeMax: 100, // [limits.page] [messages.list.limit]
  pageSizeDefault: 20, // [limits.page] [messages.list.limit-default]
  idempotencyKeyCharacters: 255, // [limits.idempotency-key]
  idempotencyKeyLifetimeMs: 24 * hour, // [limits.idempotency-key] [connections.create.idempotency.lifetime]
  /** `Retry-After` of 409 `idempotency_in_progress`. */
  idempotencyInProgressRetryAfterSeconds: 1, // [connections.create.idempotency.in-flight-wait]
  pairingCodesPerWindow: 5, // [limits.pairing-codes]
  pairingCodeWindowMs: 15 * minute, // [limits.pairing-codes] [connections.pairing-code.cap]
  qrRotationMs: 20 * second, // [limits.qr-rotation] [connections.create.rotation]
  webhookAttempts: 3, // [limits.webhook-retries]
  /** Wait before each attempt of one event, counted from the end of the previous attempt. */
  webhookAttemptDelaysMs: [0, 500, 1_000], // [limits.webhook-retries] [delivery.attempts]
  webhookAttemptTimeoutMs: 10 * second, // [limits.webhook-retries] [delivery.timeout]
  /** How far the timestamp of a signature may differ from the receiver's clock, in either direction. */
  signatureFreshnessMs: 5 * minute,
  sendClientTimeoutMs: 180 * second, // [limits.send-timeout]
  sendHumanizedMinMs: 1 * second,
  sendLongTextMaxMs: 20 * second,
  sendSelfHealMaxMs: 150 * second,
  cloudApiSendMs: 1 * second,
  warmupMs: 72 * hour, // [limits.warmup]
  trialMs: 7 * day, // [limits.trial]
  accessTokenLifetimeMs: 15 * minute, // [limits.tokens]
  refreshTokenLifetimeMs: 30 * day, // [limits.tokens]
  disconnectDetectionMs: 5 * minute, // [limits.disconnect-detection]
  disconnectDetectionHealMinMs: 15 * minute, // [limits.disconnect-detection]
  disconnectDetectionHealMaxMs: 20 * minute, // [limits.disconnect-detection]
  reconcileIntervalMinMs: 30 * second,
  reconcileIntervalMaxMs: 60 * second,
} as const;

/** Sum of the waits between the attempts of one event: how long a delivery takes if each attempt fails at once. */
export const DELIVERY_WAITS_MS = LIMITS.webhookAttemptDelaysMs.reduce<number>((sum, ms) => sum + ms, 0);
/** How long a delivery takes if each attempt times out. No attempt is made later. */
export const DELIVERY_MAX_MS = DELIVERY_WAITS_MS + LIMITS.webhookAttempts * LIMITS.webhookAttemptTimeoutMs;
