import { format, inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../../src/runtime/config/secret.ts';

const secret = new Secret('cAnaRy');

describe('a secret', () => {
  it('is revealed only by `reveal`', () => {
    expect(secret.reveal()).toBe('cAnaRy');
  });

  it.each([
    ['a template', () => `${secret}`],
    ['a concatenation', () => `a${String(secret)}`],
    ['JSON', () => JSON.stringify({ secret, list: [secret] })],
    ['inspect', () => inspect({ secret }, { depth: 5, showHidden: true })],
    ['format', () => format('%s %o %j', secret, secret, secret)],
    ['its keys', () => JSON.stringify(Object.entries(secret))],
    ['a copy', () => JSON.stringify({ ...secret })],
  ])('is not revealed by %s', (_how, print) => {
    expect(print()).not.toContain('cAnaRy');
  });

  it('shows a placeholder', () => {
    expect(`${secret}`).toBe('[secret]');
    expect(inspect(secret)).toBe('[secret]');
  });
});
