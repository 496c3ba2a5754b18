import { describe, expect, it } from 'vitest';
import { EVENT_TYPES } from '../../../src/contract/service/events.ts';
import { HEADERS, SIGNATURE_PREFIX } from '../../../src/contract/service/headers.ts';
import { LIMITS } from '../../../src/contract/service/limits.ts';
import { SCOPE_MEANINGS, SCOPES } from '../../../src/contract/service/scopes.ts';
import {
  CONNECTION_STATUSES,
  DISCONNECT_REASONS,
  MESSAGE_STATUS_RANKS,
  MESSAGE_STATUSES,
  PROVIDERS,
} from '../../../src/contract/service/statuses.ts';
import { proves } from '../../support/proves.ts';

describe('the limits', () => {
  it('have the values of the specification, in milliseconds and counts', () => {
    expect(LIMITS).toEqual({
      textCharacters: 4096,
      mediaBase64Characters: 16_777_216,
      pageSizeMin: 1,
      pageSizeMax: 100,
      pageSizeDefault: 20,
      idempotencyKeyCharacters: 255,
      idempotencyKeyLifetimeMs: 86_400_000,
      idempotencyInProgressRetryAfterSeconds: 1,
      pairingCodesPerWindow: 5,
      pairingCodeWindowMs: 900_000,
      qrRotationMs: 20_000,
      webhookAttempts: 3,
      webhookAttemptDelaysMs: [0, 500, 1_000],
      webhookAttemptTimeoutMs: 10_000,
      signatureFreshnessMs: 300_000,
      sendClientTimeoutMs: 180_000,
      sendHumanizedMinMs: 1_000,
      sendLongTextMaxMs: 20_000,
      sendSelfHealMaxMs: 150_000,
      cloudApiSendMs: 1_000,
      warmupMs: 259_200_000,
      trialMs: 604_800_000,
      accessTokenLifetimeMs: 900_000,
      refreshTokenLifetimeMs: 2_592_000_000,
      disconnectDetectionMs: 300_000,
      disconnectDetectionHealMinMs: 900_000,
      disconnectDetectionHealMaxMs: 1_200_000,
      reconcileIntervalMinMs: 30_000,
      reconcileIntervalMaxMs: 60_000,
    });
  });

  it('have one delay per attempt', () => {
    expect(LIMITS.webhookAttemptDelaysMs).toHaveLength(LIMITS.webhookAttempts);
  });
});

describe('the names', () => {
  it('contain the four scopes, each with an explanation', () => {
    proves('wire.names');
    expect(SCOPES).toEqual(['messaging.read', 'messaging.send', 'messaging.events', 'messaging.manage']);
    expect(Object.keys(SCOPE_MEANINGS)).toEqual([...SCOPES]);
  });

  it('contain the four events', () => {
    proves('events.four');
    expect(EVENT_TYPES).toEqual([
      'message.received',
      'message.status',
      'connection.disconnected',
      'connection.connected',
    ]);
  });

  it('spell the headers as on the wire', () => {
    proves('wire.names');
    expect(HEADERS).toEqual({
      timestamp: 'X-Service-Timestamp',
      signature: 'X-Service-Signature',
      idempotencyKey: 'Idempotency-Key',
      idempotencyReplayed: 'Idempotency-Replayed',
      retryAfter: 'Retry-After',
      wwwAuthenticate: 'WWW-Authenticate',
    });
    expect(SIGNATURE_PREFIX).toBe('sha256=');
  });

  it('order the statuses of a message', () => {
    proves('status.values');
    expect(MESSAGE_STATUSES).toEqual(['sent', 'delivered', 'read', 'failed']);
    expect(MESSAGE_STATUS_RANKS).toEqual({ sent: 1, delivered: 2, read: 3 });
  });

  it('contain the values that the specification names', () => {
    proves('state.values', 'service.provider.kinds');
    expect([...CONNECTION_STATUSES].sort()).toEqual(['connected', 'connecting', 'disconnected', 'open']);
    expect(PROVIDERS).toEqual(['qr', 'cloud_api']);
    expect(DISCONNECT_REASONS).toEqual(['AUTH_LOST', 'NEEDS_RECONNECT', 'HEAL_GIVEUP']);
  });
});
