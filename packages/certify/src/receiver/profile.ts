import { createHmac } from 'node:crypto';
import type { Clock } from '../../../../src/runtime/clock/clock.ts';
import { createConsumerEvents, keyOf } from './consumer-events.ts';
import { createEvents, type Events } from './events.ts';

/** A request header. A name may occur more than once. */
export type Header = readonly [name: string, value: string];

export interface ToSign {
  /** Several are separated by spaces, for profiles whose deliveries may have several signatures. */
  readonly secret: string;
  readonly body: Uint8Array;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Id of the delivery, for profiles that sign it. Retries have the same. */
  readonly deliveryId: string;
  /** Replaces the timestamp as it is sent and signed. */
  readonly timestamp?: string;
}

/** What a sender delivers, and how it signs it. */
export interface Profile {
  readonly name: string;
  readonly timestampHeader: string;
  readonly signatureHeader: string;
  /** How long the sender waits for an answer, in milliseconds. */
  readonly answersWithinMs: number;
  createEvents(clock: Clock, connectionId?: string): Events;
  /** The id of the delivery with this body; empty if it has none. */
  idOf(body: Uint8Array): string;
  /** Why a secret is not one of this profile; undefined if it is. */
  refuseSecret(secret: string): string | undefined;
  sign(what: ToSign): readonly Header[];
}

/** The signature of a delivery of the service: over its timestamp, a dot and its raw bytes. */
export function signDelivery(secret: string, timestamp: string, body: Uint8Array): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')}`;
}

/** `X-Service-Signature: sha256=<hex>` over `<timestamp>.<raw body>`, timestamps in milliseconds. */
const messaging: Profile = {
  name: 'messaging',
  timestampHeader: 'X-Service-Timestamp',
  signatureHeader: 'X-Service-Signature',
  // [delivery.attempts]
  answersWithinMs: 10_000,
  createEvents,
  idOf: () => '',
  refuseSecret: (secret) => (secret === '' ? 'is empty' : undefined),
  sign: ({ secret, body, at, timestamp = String(at) }) => [
    ['X-Service-Timestamp', timestamp],
    ['X-Service-Signature', signDelivery(secret, timestamp, body)],
  ],
};

const STANDARD_SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

/**
 * Requests to HTTP consumers, signed as https://www.standardwebhooks.com describe: `v1,<base64>` over
 * `<id>.<timestamp>.<raw body>`, timestamps in seconds.
 */
const standardWebhooks: Profile = {
  name: 'standard-webhooks',
  timestampHeader: 'webhook-timestamp',
  signatureHeader: 'webhook-signature',
  answersWithinMs: 30_000,
  createEvents: createConsumerEvents,
  idOf: keyOf,
  refuseSecret: (secret) =>
    STANDARD_SECRET.test(secret) ? undefined : 'must be whsec_ and the key in base64',
  sign({ secret, body, at, deliveryId, timestamp = String(Math.floor(at / 1000)) }) {
    const signatures = secret.split(' ').map((one) => {
      const key = Buffer.from(STANDARD_SECRET.exec(one)?.[1] ?? one, 'base64');
      const hmac = createHmac('sha256', key).update(`${deliveryId}.${timestamp}.`).update(body);
      return `v1,${hmac.digest('base64')}`;
    });
    return [
      ['webhook-id', deliveryId],
      ['webhook-timestamp', timestamp],
      ['webhook-signature', signatures.join(' ')],
    ];
  },
};

export const PROFILES = { messaging, 'standard-webhooks': standardWebhooks } as const;
