import { describe, expect, it } from 'vitest';
import { parseWebhookUrl } from '../../../src/platform/webhooks/webhook-url.ts';
import { readAddressVectors } from '../../support/address-vectors.ts';

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
