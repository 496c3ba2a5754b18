import { describe, expect, test } from 'vitest';
import { isIdentifier, newIdentifier } from '../../src/platform/kernel/identifiers.ts';

describe('identifiers', () => {
  test('have 25 characters, start with c, and are unique', () => {
    const ids = Array.from({ length: 20_000 }, newIdentifier);
    for (const id of ids) expect(id).toMatch(/^c[0-9a-z]{24}$/);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('use all characters equally often', () => {
    const counts = new Map<string, number>();
    const ids = Array.from({ length: 20_000 }, newIdentifier);
    for (const character of ids.map((id) => id.slice(1)).join('')) {
      counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    const expected = (20_000 * 24) / 36;
    expect(counts.size).toBe(36);
    for (const count of counts.values()) expect(Math.abs(count - expected) / expected).toBeLessThan(0.1);
  });

  test.each(['', 'c', 'unknown', `c${'0'.repeat(25)}`, `d${'0'.repeat(24)}`, `c${'A'.repeat(24)}`, null, 7])(
    'do not include %j',
    (value) => {
      expect(isIdentifier(value)).toBe(false);
    },
  );
});
