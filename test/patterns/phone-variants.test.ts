import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { personKey, variants } from '../../src/patterns/phone-variants.ts';

interface Case {
  readonly name: string;
  readonly phone: string;
  readonly variants: readonly string[];
  readonly person_key: string;
}

const { cases }: { readonly cases: readonly Case[] } = JSON.parse(
  readFileSync(new URL('../vectors/phone-variants.json', import.meta.url), 'utf8'),
);

describe('variants and personKey', () => {
  it.each(cases.map((entry) => [`${entry.name}: ${JSON.stringify(entry.phone)}`, entry] as const))(
    'are as expected: %s',
    (_, entry) => {
      expect({ variants: variants(entry.phone), person_key: personKey(entry.phone) }).toEqual({
        variants: entry.variants,
        person_key: entry.person_key,
      });
    },
  );

  it('agree for every spelling of a number, and include it', () => {
    const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 8, maxLength: 12 });
    const phone = fc.tuple(fc.constantFrom('', '55', '54', '549', '52', '521'), digits);
    fc.assert(
      fc.property(phone, (parts) => {
        const own = parts.join('');
        expect(variants(own)).toContain(own);
        for (const other of variants(own)) expect(variants(other)).toEqual(variants(own));
      }),
      { numRuns: 2_000 },
    );
  });
});
