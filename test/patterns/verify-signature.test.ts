import { createHmac, createSecretKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SignedRequest, verifySignature } from '../../src/patterns/verify-signature.ts';
import { proves } from '../support/proves.ts';

interface Case {
  readonly name: string;
  readonly secret: string;
  readonly timestamp_header: string | string[] | null;
  readonly signature_header: string | string[] | null;
  readonly body_utf8?: string;
  readonly body_base64?: string;
  readonly now_ms: number;
  readonly expect: string;
}

const vectors: { readonly cases: readonly Case[]; readonly misuse: readonly Case[] } = JSON.parse(
  readFileSync(new URL('../vectors/signature.json', import.meta.url), 'utf8'),
);

function toRequest(entry: Case): SignedRequest {
  return {
    timestampHeader: entry.timestamp_header ?? undefined,
    signatureHeader: entry.signature_header ?? undefined,
    body:
      entry.body_base64 === undefined
        ? Buffer.from(entry.body_utf8 ?? '', 'utf8')
        : Buffer.from(entry.body_base64, 'base64'),
    secrets: [entry.secret],
    now: entry.now_ms,
  };
}

const now = 1_763_700_000_000;

function sign(body: Uint8Array, secret: string, timestamp = String(now)): SignedRequest {
  const hex = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');
  return { timestampHeader: timestamp, signatureHeader: `sha256=${hex}`, body, secrets: [secret], now };
}

describe('verifySignature', () => {
  it.each(vectors.cases.map((entry) => [entry.name, entry] as const))(
    'returns the expected result: %s',
    (_, entry) => {
      proves('delivery.verify.stale', 'limits.signature-freshness');
      const check = verifySignature(toRequest(entry));
      expect(check.valid ? 'valid' : check.reason).toBe(entry.expect);
    },
  );

  it('returns when it was signed and which secret matches', () => {
    const request = sign(Buffer.from('{}'), 'second');
    const key = createSecretKey(Buffer.from('first'));
    expect(verifySignature({ ...request, secrets: [key, Buffer.from('second')] })).toEqual({
      valid: true,
      timestamp: now,
      secret: 1,
    });
  });

  it.each(vectors.misuse.map((entry) => [entry.name, entry] as const))('throws for %s', (_, entry) => {
    expect(entry.expect).toBe('error');
    expect(() => verifySignature(toRequest(entry))).toThrow(RangeError);
  });

  it.each([
    ['bytes', new Uint8Array()],
    ['text beside a good one', ''],
    ['a key', createSecretKey(Buffer.alloc(0))],
  ])('throws for an empty secret given as %s', (_, empty) => {
    const request = sign(Buffer.from('{}'), 'secret');
    expect(() => verifySignature({ ...request, secrets: ['secret', empty] })).toThrow(RangeError);
  });

  it('throws for a missing secret', () => {
    const request = sign(Buffer.from('{}'), 'secret');
    const secrets = [process.env['A_SECRET_THAT_NOBODY_SETS']] as string[];
    expect(() => verifySignature({ ...request, secrets })).toThrow(RangeError);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, undefined])('throws if now is %s', (now) => {
    const request = sign(Buffer.from('{}'), 'secret');
    expect(() => verifySignature({ ...request, now: now as number })).toThrow(RangeError);
  });

  it('treats null as an absent header, as fetch returns it', () => {
    const headers = new Headers({ 'x-service-signature': 'sha256=00' });
    const request = {
      ...sign(Buffer.from('{}'), 'secret'),
      timestampHeader: headers.get('x-service-timestamp'),
      signatureHeader: headers.get('x-service-signature'),
    };
    expect(verifySignature(request)).toEqual({ valid: false, reason: 'missing_header' });
  });

  it('refuses everything if there is no secret', () => {
    expect(verifySignature({ ...sign(Buffer.from('{}'), 'secret'), secrets: [] })).toEqual({
      valid: false,
      reason: 'wrong_signature',
    });
  });

  it('treats an empty list of values as a missing header', () => {
    expect(verifySignature({ ...sign(Buffer.from('{}'), 'secret'), signatureHeader: [] })).toEqual({
      valid: false,
      reason: 'missing_header',
    });
  });

  it('refuses any body with one flipped bit', () => {
    proves('delivery.verify.raw-bytes');
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), fc.nat(), (body, pick) => {
        const request = sign(body, 'secret');
        expect(verifySignature(request).valid).toBe(true);
        const altered = Uint8Array.from(body);
        const at = pick % altered.length;
        altered[at] = (altered[at] ?? 0) ^ (1 << (pick % 8));
        expect(verifySignature({ ...request, body: altered })).toEqual({
          valid: false,
          reason: 'wrong_signature',
        });
      }),
    );
  });

  it('never throws, whatever the headers and the body contain', () => {
    const header = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 90 }),
      fc.array(fc.string({ unit: 'binary', maxLength: 90 }), { maxLength: 3 }),
      fc.constant(undefined),
      fc.constant('0'.repeat(13)),
      fc.constant(`sha256=${'0'.repeat(64)}`),
    );
    fc.assert(
      fc.property(
        header,
        header,
        fc.uint8Array({ maxLength: 50 }),
        (timestampHeader, signatureHeader, body) => {
          const check = verifySignature({ timestampHeader, signatureHeader, body, secrets: ['secret'], now });
          expect(check.valid).toBe(false);
        },
      ),
      { numRuns: 500 },
    );
  });
});
