import { Readable } from 'node:stream';
import { LIMITS } from '../../contract/service/limits.ts';
import { signEvent } from '../../platform/webhooks/sign-event.ts';
import {
  deliveryHeaders,
  type ShapedAttempt,
  type SignedBody,
  shapeRequest,
} from '../../platform/webhooks/signed-body.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { type Fault, findFault } from './fault.ts';

/** A minute longer than a receiver accepts. */
const STALE_MS = LIMITS.signatureFreshnessMs + 60_000;

/** Alters one printable ASCII byte, at or after the middle, so that the body remains text. */
export function tamperBody(body: Buffer): Buffer {
  const altered = Buffer.from(body);
  const middle = altered.length >> 1;
  const offset = altered.subarray(middle).findIndex((byte) => byte >= 0x20 && byte < 0x7e);
  const place = middle + Math.max(0, offset);
  altered[place] = (altered[place] ?? 0) ^ 1;
  return altered;
}

/** Alters the last hex digit. */
export function tamperSignature(signature: string): string {
  return `${signature.slice(0, -1)}${signature.endsWith('0') ? '1' : '0'}`;
}

class Truncated extends Error {
  override readonly name = 'Truncated';
  readonly code = 'TRUNCATED';
}

/** Sends the first half of a body, then ends the connection. */
function truncated(body: Buffer): Readable {
  return Readable.from(
    (function* halves() {
      yield body.subarray(0, body.length >> 1);
      throw new Truncated('the body was cut');
    })(),
  );
}

/** Sends the first half of a body at once, the rest `ms` later. */
function slowed(body: Buffer, ms: number, clock: Clock): Readable {
  const source = new Readable({
    read: () => undefined,
    destroy(error, done) {
      cancel();
      done(error);
    },
  });
  source.push(body.subarray(0, body.length >> 1));
  const cancel = clock.after(ms, () => {
    source.push(body.subarray(body.length >> 1));
    source.push(null);
  });
  return source;
}

/**
 * Applies faults to the request of one attempt, each once and what follows the signing last, whatever their order.
 * Without any, it is exactly what was signed. `drop`, `delay`, `reorder` and `duplicate` are applied elsewhere. `secret`
 * signs a stale timestamp validly.
 */
export function shapeAttempt(
  signed: SignedBody,
  faults: readonly Fault[],
  { secret, clock }: { readonly secret: string; readonly clock: Clock },
): ShapedAttempt {
  if (faults.length === 0) return shapeRequest(signed);
  const has = (type: Fault['type']): boolean => findFault(faults, type) !== undefined;
  let { timestamp, signature, body } = signed;
  const stale = findFault(faults, 'stale_timestamp');
  if (stale !== undefined) {
    timestamp -= stale.byMs ?? STALE_MS;
    signature = signEvent(secret, timestamp, body);
  }
  if (has('tamper_body')) body = tamperBody(body);
  if (has('tamper_signature')) signature = tamperSignature(signature);
  const slow = findFault(faults, 'slow');
  const stream = has('truncate') ? truncated(body) : slow && slowed(body, slow.ms, clock);
  const headers = deliveryHeaders({ ...signed, timestamp, signature });
  if (stream === undefined) return { headers, body };
  return { headers: { ...headers, 'Content-Length': String(body.length) }, body: stream };
}
