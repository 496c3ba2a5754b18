import { describe, expect, it } from 'vitest';
import { equalSecrets } from '../../../src/runtime/sealing/equal-secrets.ts';

describe('comparing secrets', () => {
  it('finds equal secrets equal', () => {
    expect(equalSecrets('a-token', 'a-token')).toBe(true);
    expect(equalSecrets('', '')).toBe(true);
    expect(equalSecrets('Schlüssel', 'Schlüssel')).toBe(true);
  });

  it.each([
    ['a-token', 'a-tokem'],
    ['a-token', 'a-token '],
    ['a-token', 'A-token'],
    ['', 'a'],
    ['a', 'a'.repeat(10_000)],
  ])('finds %j and another unequal, whatever their lengths', (a, b) => {
    expect(equalSecrets(a, b)).toBe(false);
    expect(equalSecrets(b, a)).toBe(false);
  });
});
