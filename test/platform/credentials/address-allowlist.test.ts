import { describe, expect, test } from 'vitest';
import { checkAllowlist, decideAddress } from '../../../src/platform/credentials/address-allowlist.ts';
import { proves } from '../../support/proves.ts';

describe('address allowlist', () => {
  test.each([
    [null, '203.0.113.7', true],
    [null, undefined, true],
    [['203.0.113.7'], '203.0.113.7', true],
    [['203.0.113.7'], '::ffff:203.0.113.7', true],
    [['203.0.113.7'], '203.0.113.8', false],
    [['203.0.113.0/24'], '203.0.113.255', true],
    [['203.0.113.0/24'], '203.0.114.0', false],
    [['0.0.0.0/0'], '198.51.100.1', true],
    [['0.0.0.0/0'], '2001:db8::1', false],
    [['2001:db8::/32'], '2001:db8:ffff::1', true],
    [['2001:db8::/32'], '2001:db9::1', false],
    [['2001:db8::1'], '2001:0db8:0:0::0001', true],
    [['fe80::1'], 'fe80::1%eth0', true],
    [['198.51.100.1', '203.0.113.0/25'], '203.0.113.127', true],
    [['203.0.113.7'], undefined, false],
    [['203.0.113.7'], 'unknown', false],
    [['203.0.113.7'], '', false],
    [[], '203.0.113.7', false],
    [['::ffff:203.0.113.0/120'], '203.0.113.9', true],
    [['::ffff:203.0.113.0/120'], '::ffff:203.0.114.9', false],
    [['::/0'], '203.0.113.7', false],
    [['::/0'], '::ffff:203.0.113.7', false],
    [['10.0.0.5/8'], '10.255.0.1', true],
    [['203.0.113.7'], '203.0.113.7:443', false],
    [['203.0.113.7'], '[::ffff:203.0.113.7]', false],
    [['203.0.113.7'], ' 203.0.113.7', false],
    [['203.0.113.7'], '0xcb.0.113.7', false],
    [['203.0.113.7'], '0313.0.113.7', false],
    [['8.0.0.1'], '010.0.0.1', false],
  ])('%j and %s: %s', (entries, caller, allowed) => {
    proves('auth.key.allowlist', 'auth.key.unknown-address', 'auth.key.no-allowlist');
    expect(decideAddress(entries, caller).allowed).toBe(allowed);
  });

  test('returns the first matching entry, and none without a list', () => {
    const entries = ['198.51.100.1', '203.0.113.0/25', '203.0.113.7'];
    expect(decideAddress(entries, '203.0.113.7')).toEqual({ allowed: true, entry: '203.0.113.0/25' });
    expect(decideAddress(entries, '192.0.2.1')).toEqual({ allowed: false, entry: null });
    expect(decideAddress(null, '192.0.2.1')).toEqual({ allowed: true, entry: null });
  });

  test.each(['203.0.113.7', '203.0.113.0/24', '2001:db8::/32', '::1', '0.0.0.0/0', '::/0'])(
    'accepts the entry %s',
    (entry) => {
      expect(() => checkAllowlist([entry])).not.toThrow();
    },
  );

  test.each([
    '',
    'localhost',
    '203.0.113',
    '0xcb.0.113.7',
    '010.0.0.1',
    '203.0.113.7/33',
    '::1/129',
    '1.2.3.4/',
    '1.2.3.4/8/8',
    '1.2.3.4/-1',
    'fe80::1%eth0',
    '*',
  ])('refuses the entry "%s" and names the field', (entry) => {
    expect(() => checkAllowlist(['203.0.113.7', entry])).toThrow('invalid_request: ipAllowlist');
  });
});
