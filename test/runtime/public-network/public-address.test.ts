import { describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../../src/runtime/public-network/public-address.ts';
import { readAddressVectors } from '../../support/address-vectors.ts';

const vectors = readAddressVectors();

describe('an address', () => {
  it.each(['8.8.8.8', '93.184.216.34', '2606:4700:4700::1111', '::ffff:8.8.8.8'])(
    '%s is public',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  it.each(['', 'example.com', '8.8.8.8.', '2606:4700::1%eth0'])('%s is not', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each(vectors.refused_when_it_leads_to)('list with $what is not entirely public', ({ addresses }) => {
    expect(addresses.every(isPublicAddress)).toBe(false);
  });
});
