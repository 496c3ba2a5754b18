/**
 * The rule: a delivery has the headers `X-Service-Timestamp` (epoch milliseconds) and `X-Service-Signature`
 * (`sha256=` and 64 hex digits). The signature is the HMAC-SHA256 of `<timestamp>.<raw body>`, keyed with the
 * signing secret. To prevent replays, a timestamp that differs from the receiver's clock by more than five
 * minutes is rejected.
 *
 * The mistake that this prevents: the parsed body is serialized again and verified, so that some genuine
 * deliveries fail, and a recorded delivery is accepted forever because nobody checks the time.
 *
 * Why it is this strict:
 * - Bytes, not text: parsing and serializing again changes them, and so does decoding.
 * - Exactly one value of each header. Node joins repeated headers with a comma; pass `req.headersDistinct`.
 * - Exactly 13 digits. With a looser format, part of the body could move into the timestamp: the signed text
 *   stays the same and another body is accepted.
 * - Exactly 64 hex digits, checked before decoding: `Buffer.from(text, 'hex')` silently stops at invalid
 *   characters.
 * - Both sides of the window: a timestamp far in the future could be replayed for that long.
 * - Constant time, over 32 bytes on both sides.
 * - No empty secret: `process.env.SECRET ?? ''` would let everybody in.
 * - Headers first: do not read the body of a request that no secret can make valid.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';

/**
 * How far a timestamp may differ from the clock, in either direction, in milliseconds. The limit itself is
 * accepted. [limits.signature-freshness]
 */
export const SIGNATURE_WINDOW_MS = 5 * 60 * 1000;

const TIMESTAMP = /^\d{13}$/;
const SIGNATURE = /^sha256=[0-9a-fA-F]{64}$/;
const HEX_START = 'sha256='.length;

/**
 * A header as received: one value, all its values, or none (`null` is what `headers.get()` of `fetch`
 * returns).
 */
export type HeaderValues = string | readonly string[] | null | undefined;

/** What is known about a request before its body is read. */
export interface SignatureHeaders {
  readonly timestampHeader: HeaderValues;
  readonly signatureHeader: HeaderValues;
  /** The receiver's clock, in epoch milliseconds. */
  readonly now: number;
}

export interface SignedRequest extends SignatureHeaders {
  /** The body as received, before any decoding. */
  readonly body: Uint8Array;
  /**
   * Every secret that may have signed it, newest first; none may be empty. Text counts as its UTF-8 bytes.
   */
  readonly secrets: readonly (string | Uint8Array | KeyObject)[];
}

/** Why a request was rejected. The checks run in this order. */
export type SignatureRefusal =
  | 'missing_header'
  | 'malformed_timestamp'
  | 'malformed_signature'
  | 'stale_timestamp'
  | 'future_timestamp'
  | 'wrong_signature';

/** Valid: when it was signed (epoch milliseconds), and the index of the matching secret. */
export type SignatureCheck =
  | { readonly valid: true; readonly timestamp: number; readonly secret: number }
  | { readonly valid: false; readonly reason: SignatureRefusal };

type Refused = { readonly valid: false; readonly reason: SignatureRefusal };

/** Well-formed and recent: the timestamp as it was signed, and the claimed digest in hex. */
export type HeaderCheck =
  | { readonly valid: true; readonly timestamp: string; readonly digest: string }
  | Refused;

/**
 * Checks what can be checked without the body. Call it before you read the body, so that senders without
 * valid headers cannot make you allocate a megabyte. Never throws for anything that a sender can put into a
 * request. Throws a `RangeError` if `now` is not a number: otherwise no delivery would be too old.
 */
export function checkSignatureHeaders(request: SignatureHeaders): HeaderCheck {
  if (!Number.isFinite(request.now)) throw new RangeError('`now` is not a time in epoch milliseconds');
  const timestamps = listValues(request.timestampHeader);
  const signatures = listValues(request.signatureHeader);
  const [timestamp] = timestamps;
  const [signature] = signatures;
  if (timestamp === undefined || signature === undefined) return refuse('missing_header');
  if (timestamps.length > 1 || !TIMESTAMP.test(timestamp)) return refuse('malformed_timestamp');
  if (signatures.length > 1 || !SIGNATURE.test(signature)) return refuse('malformed_signature');

  const signedAt = Number(timestamp);
  // [delivery.verify.stale]
  if (request.now - signedAt > SIGNATURE_WINDOW_MS) return refuse('stale_timestamp');
  if (signedAt - request.now > SIGNATURE_WINDOW_MS) return refuse('future_timestamp');
  return { valid: true, timestamp, digest: signature.slice(HEX_START) };
}

/**
 * Verifies that a request was signed recently with one of the secrets. Parse only a valid body. Never throws
 * for anything that a sender can put into a request. Throws a `RangeError` if a secret is empty or missing,
 * as for a missing setting: anybody can sign with an empty secret.
 */
export function verifySignature(request: SignedRequest): SignatureCheck {
  if (request.secrets.some(isEmpty))
    throw new RangeError('a signing secret is empty or missing; check its setting');
  const headers = checkSignatureHeaders(request);
  if (!headers.valid) return headers;
  const { timestamp } = headers;
  const claimed = Buffer.from(headers.digest, 'hex');
  const secret = request.secrets.findIndex((candidate) => {
    // [delivery.verify.raw-bytes]
    const digest = createHmac('sha256', candidate).update(`${timestamp}.`).update(request.body).digest();
    return timingSafeEqual(digest, claimed); // [delivery.verify.constant-time]
  });
  return secret === -1 ? refuse('wrong_signature') : { valid: true, timestamp: Number(timestamp), secret };
}

function isEmpty(secret: SignedRequest['secrets'][number] | undefined): boolean {
  if (secret === undefined) return true;
  if (typeof secret === 'string') return secret === '';
  return 'byteLength' in secret ? secret.byteLength === 0 : secret.symmetricKeySize === 0;
}

function listValues(header: HeaderValues): readonly string[] {
  if (header === undefined || header === null) return [];
  return typeof header === 'string' ? [header] : header;
}

function refuse(reason: SignatureRefusal): Refused {
  return { valid: false, reason };
}
