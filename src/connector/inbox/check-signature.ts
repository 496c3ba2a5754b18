import type { IncomingMessage } from 'node:http';
import { HEADERS } from '../../contract/service/headers.ts';
import { type SignatureCheck, verifySignature } from '../../patterns/verify-signature.ts';
import type { Subscription, SubscriptionSecrets } from './subscription-secrets.ts';

const TIMESTAMP = HEADERS.timestamp.toLowerCase();
const SIGNATURE = HEADERS.signature.toLowerCase();

/**
 * Checks a delivery against the secrets of its subscription. When none fits, the secrets are read again: a
 * rotation may just have replaced them. A previous secret is good only for what was signed before the
 * rotation, and only for a while. Implements `Delivery and signature`.
 */
export async function checkSignature(
  request: IncomingMessage,
  body: Uint8Array,
  subscription: Subscription,
  subscriptions: SubscriptionSecrets,
  now: () => number,
): Promise<SignatureCheck> {
  const { headersDistinct } = request;
  const check = (secrets: Subscription['secrets']): SignatureCheck =>
    verifyWithin(secrets, {
      timestampHeader: headersDistinct[TIMESTAMP],
      signatureHeader: headersDistinct[SIGNATURE],
      body,
      now: now(),
    });

  const first = check(subscription.secrets);
  if (first.valid || first.reason !== 'wrong_signature') return first;
  if (!(await subscriptions.refresh(subscription.subscriptionId))) return first;
  const renewed = await subscriptions.find(subscription.subscriptionId);
  return renewed === null ? first : check(renewed.secrets);
}

type Signed = Omit<Parameters<typeof verifySignature>[0], 'secrets'>;

function verifyWithin(secrets: Subscription['secrets'], signed: Signed): SignatureCheck {
  const good = secrets.filter(({ acceptUntil }) => acceptUntil === undefined || signed.now <= acceptUntil);
  const check = verifySignature({ ...signed, secrets: good.map(({ secret }) => secret) });
  if (!check.valid) return check;
  const { maxTimestamp } = good[check.secret] ?? {};
  const tooNew = maxTimestamp !== undefined && check.timestamp > maxTimestamp;
  return tooNew ? { valid: false, reason: 'wrong_signature' } : check;
}
