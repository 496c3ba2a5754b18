import { describe, expect, it } from 'vitest';
import { parseWebhookUrl } from '../../../src/platform/webhooks/webhook-url.ts';
import { readAddressVectors } from '../../support/address-vectors.ts';

const vectors = readAddressVectors();

describe('the address of a webhook', () => {
  it.each(vectors.accepted)('accepts $form: $url', ({ url }) => {
    expect(parseWebhookUrl(url)).toBeInstanceOf(URL);
  });

  it.each(vectors.refused)('refuses $form: $url', ({ url }) => {
    expect(parseWebhookUrl(url.replace('{port}', '4020'))).toEqual(expect.any(String));
  });

  it.each([
    ['http://crm.example.com/', 'it is not https'],
    ['https://localhost:3000/', 'the host is localhost'],
    ['https://crm.localhost/', 'the host is localhost'],
    ['https://127.0.0.1:3000/', 'the host is a private address'],
    ['https://10.1.2.3/', 'the host is a private address'],
    ['https://[::1]/', 'the host is a private address'],
    ['https://2130706433/', 'the host is a private address'],
    ['https://8.8.2056/', 'the host is not in its usual notation'],
    ['https://crm.internal/', 'the host has a name of a private network'],
    ['https://crm/', 'the name of the host has no dot'],
    ['https://anna:secret@crm.example.com/', 'it contains a user name or password'],
    ['https://crm.example.com:0/', 'the host or the port is malformed'],
    ['crm.example.com', 'it is not a URL'],
    ['https:/crm.example.com/', 'it is malformed: spaces, backslashes or slashes'],
  ])('is refused with the reason for %s', (url, why) => {
    expect(parseWebhookUrl(url)).toBe(why);
  });

  it('has 2048 characters at most', () => {
    const base = 'https://crm.example.com/';
    expect(parseWebhookUrl(base.padEnd(2_048, 'a'))).toBeInstanceOf(URL);
    expect(parseWebhookUrl(base.padEnd(2_049, 'a'))).toBe('it has more than 2048 characters');
  });
});
