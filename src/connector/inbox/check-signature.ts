import type { IncomingMessage } from 'node:http';
import { HEADERS } from '../../contract/service/headers.ts';
import {
  checkSignatureHeaders,
  type SignatureRefusal,
  verifySignature,
} from '../../patterns/verify-signature.ts';
import type { Deadline } from '../../runtime/clock/deadline.ts';
import type { Subscription, SubscriptionSecrets } from '../accounts/subscription-secrets.ts';

const TIMESTAMP = HEADERS.timestamp.toLowerCase();
const SIGNATURE = HEADERS.signature.toLowerCase();

/**
 * Valid: when it was signed (epoch milliseconds), and with which secret of the subscription. `undecided`: it
 * matches no known secret, and whether there is a newer one could not be determined in time.
 */
export type SignatureCheck =
  | { readonly valid: true; readonly timestamp: number; readonly secretVersion: number | undefined }
  | { readonly valid: false; readonly reason: SignatureRefusal | 'undecided' };

/**
 * Checks a delivery against the secrets of its subscription. If none matches, they are read again, because a
 * rotation may just have replaced them. A previous secret is only valid for what was signed before the
 * rotation, and only for a while. A delivery signed with the previous secret during a rotation waits for its
 * outcome, until the deadline.
 */
export async function checkSignature(
  request: IncomingMessage,
  body: Uint8Array,
  subscription: Subscription,
  subscriptions: SubscriptionSecrets,
  { now, deadline }: { readonly now: () => number; readonly deadline: Deadline },
): Promise<SignatureCheck> {
  const check = (secrets: Subscription['secrets']): SignatureCheck =>
    verifyWithin(secrets, { ...headersOf(request), body, now: now() });

  let latest = check(subscription.secrets);
  if (latest.valid || latest.reason !== 'wrong_signature') return latest;
  const newer = await subscriptions.awaitNewer(subscription, deadline, (state) => {
    latest = check(state.secrets);
    return latest.valid;
  });
  return newer === 'unknown' ? { valid: false, reason: 'undecided' } : latest;
}

/**
 * Why the headers alone make a request invalid, whatever its body; undefined if they may belong to a
 * delivery.
 */
export function checkHeaders(request: IncomingMessage, now: number): SignatureRefusal | undefined {
  const check = checkSignatureHeaders({ ...headersOf(request), now });
  return check.valid ? undefined : check.reason;
}

function headersOf({ headersDistinct }: IncomingMessage) {
  return { timestampHeader: headersDistinct[TIMESTAMP], signatureHeader: headersDistinct[SIGNATURE] };
}

type Signed = Omit<Parameters<typeof verifySignature>[0], 'secrets'>;

function verifyWithin(secrets: Subscription['secrets'], signed: Signed): SignatureCheck {
  const good = secrets.filter(({ acceptUntil }) => acceptUntil === undefined || signed.now <= acceptUntil);
  const check = verifySignature({ ...signed, secrets: good.map(({ secret }) => secret) });
  if (!check.valid) return check;
  const { maxTimestamp = Infinity, doubtfulAfter = Infinity, version } = good[check.secret] ?? {};
  const tooNew = check.timestamp > Math.min(maxTimestamp, doubtfulAfter);
  if (tooNew) return { valid: false, reason: 'wrong_signature' };
  return { valid: true, timestamp: check.timestamp, secretVersion: version };
}
