import { describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../../src/platform/webhooks/public-address.ts';
import { parseWebhookUrl } from '../../../src/platform/webhooks/webhook-url.ts';
import { readAddressVectors } from './address-vectors.ts';

const vectors = readAddressVectors();

describe('the address of a webhook', () => {
  it.each(vectors.accepted)('accepts $form: $url', ({ url }) => {
    expect(parseWebhookUrl(url)).toBeInstanceOf(URL);
  });

  it.each(vectors.refused)('refuses $form: $url', ({ url }) => {
    expect(parseWebhookUrl(url.replace('{port}', '4020'))).toBeNull();
  });

  it('has 2048 characters at most', () => {
    const base = 'https://crm.example.com/';
    expect(parseWebhookUrl(base.padEnd(2_048, 'a'))).not.toBeNull();
    expect(parseWebhookUrl(base.padEnd(2_049, 'a'))).toBeNull();
  });
});

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

  it.each(vectors.refused_when_it_leads_to)('list with $what is not all public', ({ addresses }) => {
    expect(addresses.every(isPublicAddress)).toBe(false);
  });
});
