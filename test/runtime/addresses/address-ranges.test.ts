import { expect, it } from 'vitest';
import { addressKey } from '../../../src/runtime/addresses/address-ranges.ts';

it.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2::7', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:3::7', '2001:db8:1:3::/64'],
  ['nobody', 'nobody'],
])('%s counts as the caller %s', (caller, key) => {
  expect(addressKey(caller)).toBe(key);
});
