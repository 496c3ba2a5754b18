import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { signEvent } from '../../../src/platform/webhooks/sign-event.ts';

interface Case {
  readonly name: string;
  readonly secret: string;
  readonly timestamp_header: string | readonly string[] | null;
  readonly signature_header: string | readonly string[] | null;
  readonly body_utf8?: string;
  readonly body_base64?: string;
  readonly expect: string;
}

const file = new URL('../../vectors/signature.json', import.meta.url);
const { cases }: { cases: readonly Case[] } = JSON.parse(readFileSync(file, 'utf8'));
const signedAs = (expectation: string) =>
  cases.filter((entry) => entry.expect === expectation && typeof entry.signature_header === 'string');

function sign(entry: Case): string {
  const body =
    entry.body_base64 === undefined
      ? Buffer.from(entry.body_utf8 ?? '')
      : Buffer.from(entry.body_base64, 'base64');
  return signEvent(entry.secret, Number(entry.timestamp_header), body);
}

describe('the signature of an event', () => {
  it('matches the test vectors', () => {
    expect(signedAs('valid').length).toBeGreaterThan(5);
    expect(signedAs('wrong_signature').length).toBeGreaterThan(5);
  });

  it.each(signedAs('valid'))('is the one of the vectors: $name', (entry) => {
    expect(sign(entry)).toBe(String(entry.signature_header).toLowerCase());
  });

  it.each(signedAs('wrong_signature'))('differs from a wrong one: $name', (entry) => {
    expect(sign(entry)).not.toBe(String(entry.signature_header).toLowerCase());
  });
});
