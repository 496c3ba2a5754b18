import { createHmac } from 'node:crypto';

/** A request header. A name may occur more than once. */
export type Header = readonly [name: string, value: string];

export interface ToSign {
  readonly secret: string;
  readonly body: Uint8Array;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Id of the delivery, for profiles that sign it. Retries have the same. */
  readonly deliveryId: string;
  /** Replaces the timestamp as it is sent and signed. */
  readonly timestamp?: string;
}

/** How a sender signs its webhooks. */
export interface Profile {
  readonly name: string;
  readonly timestampHeader: string;
  readonly signatureHeader: string;
  /** What precedes the digest in the signature header. */
  readonly scheme: string;
  /** Length of a digest in characters. */
  readonly digestLength: number;
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
  scheme: 'sha256=',
  digestLength: 64,
  refuseSecret: (secret) => (secret === '' ? 'is empty' : undefined),
  sign: ({ secret, body, at, timestamp = String(at) }) => [
    ['X-Service-Timestamp', timestamp],
    ['X-Service-Signature', signDelivery(secret, timestamp, body)],
  ],
};

const STANDARD_SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

/** https://www.standardwebhooks.com: `v1,<base64>` over `<id>.<timestamp>.<raw body>`, timestamps in seconds. */
const standardWebhooks: Profile = {
  name: 'standard-webhooks',
  timestampHeader: 'webhook-timestamp',
  signatureHeader: 'webhook-signature',
  scheme: 'v1,',
  digestLength: 44,
  refuseSecret: (secret) =>
    STANDARD_SECRET.test(secret) ? undefined : 'must be whsec_ and the key in base64',
  sign({ secret, body, at, deliveryId, timestamp = String(Math.floor(at / 1000)) }) {
    const key = Buffer.from(STANDARD_SECRET.exec(secret)?.[1] ?? secret, 'base64');
    const digest = createHmac('sha256', key)
      .update(`${deliveryId}.${timestamp}.`)
      .update(body)
      .digest('base64');
    return [
      ['webhook-id', deliveryId],
      ['webhook-timestamp', timestamp],
      ['webhook-signature', `v1,${digest}`],
    ];
  },
};

export const PROFILES: Readonly<Record<string, Profile>> = {
  messaging,
  'standard-webhooks': standardWebhooks,
};
