import { describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../../src/platform/webhooks/public-address.ts';
import { parseWebhookUrl } from '../../../src/platform/webhooks/webhook-url.ts';

describe('the address of a webhook', () => {
  it.each([
    'https://crm.example.com/hooks',
    'https://crm.example.com:8443/hooks?tenant=1',
    'HTTPS://CRM.Example.COM/',
    'https://crm.example.com./',
    'https://bücher.example/',
    'https://under_score.example.com/',
    'https://127.0.0.1.nip.io/',
    'https://93.184.216.34/',
    'https://[2606:4700:4700::1111]/hook',
    'https://[::ffff:93.184.216.34]/',
  ])('accepts %s', (url) => {
    expect(parseWebhookUrl(url)).toBeInstanceOf(URL);
  });

  it.each([
    ['plain http', 'http://crm.example.com/'],
    ['another scheme', 'ftp://crm.example.com/'],
    ['no scheme', 'crm.example.com/hooks'],
    ['nothing', ''],
    ['no host', 'https://'],
    ['one slash', 'https:/crm.example.com'],
    ['no slash', 'https:crm.example.com'],
    ['backslashes', 'https:\\\\crm.example.com'],
    ['a backslash after the host', 'https://crm.example.com\\@10.0.0.1/'],
    ['a user', 'https://user@crm.example.com/'],
    ['a user and a password', 'https://user:pass@crm.example.com/'],
    ['an empty user', 'https://@crm.example.com/'],
    ['a tab inside', 'https://crm.exa\tmple.com/'],
    ['a line break at the end', 'https://crm.example.com/\n'],
    ['a blank before', ' https://crm.example.com/'],
    ['port 0', 'https://crm.example.com:0/'],
    ['a port past the last', 'https://crm.example.com:65536/'],
    ['more than 2048 characters', `https://crm.example.com/${'a'.repeat(2_048)}`],
    ['localhost', 'https://localhost/'],
    ['localhost with a port', 'https://localhost:4020/'],
    ['localhost with a dot', 'https://localhost./'],
    ['localhost in capitals', 'https://LOCALHOST/'],
    ['localhost, percent-encoded', 'https://loc%61lhost/'],
    ['localhost in circled letters', 'https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/'],
    ['a name below localhost', 'https://crm.localhost/'],
    ['a name of a local network', 'https://printer.local/'],
    ['an internal name', 'https://metadata.google.internal/'],
    ['a home network', 'https://nas.home.arpa/'],
    ['a single label', 'https://intranet/'],
    ['an empty label', 'https://a..example.com/'],
    ['loopback', 'https://127.0.0.1/'],
    ['loopback, other than .1', 'https://127.255.255.254/'],
    ['loopback, short', 'https://127.1/'],
    ['loopback, decimal', 'https://2130706433/'],
    ['loopback, octal', 'https://017700000001/'],
    ['loopback, octal by parts', 'https://0177.0.0.1/'],
    ['loopback, hexadecimal', 'https://0x7f000001/'],
    ['loopback, hexadecimal by parts', 'https://0x7f.0x0.0x0.0x1/'],
    ['loopback with a dot', 'https://127.0.0.1./'],
    ['loopback in full-width digits', 'https://１２７.0.0.1/'],
    ['loopback with ideographic dots', 'https://127。0。0。1/'],
    ['any address', 'https://0.0.0.0/'],
    ['any address, short', 'https://0/'],
    ['private, class A', 'https://10.1.2.3/'],
    ['private, class B', 'https://172.16.0.1/'],
    ['private, class C', 'https://192.168.1.1/'],
    ['carrier-grade NAT', 'https://100.64.0.1/'],
    ['link-local, where clouds keep metadata', 'https://169.254.169.254/latest/meta-data'],
    ['multicast', 'https://224.0.0.1/'],
    ['broadcast', 'https://255.255.255.255/'],
    ['documentation', 'https://192.0.2.1/'],
    ['benchmarking', 'https://198.18.0.1/'],
    ['reserved', 'https://240.0.0.1/'],
    ['loopback of IPv6', 'https://[::1]/'],
    ['unspecified of IPv6', 'https://[::]/'],
    ['IPv4-mapped loopback', 'https://[::ffff:127.0.0.1]/'],
    ['IPv4-mapped private', 'https://[::ffff:c0a8:101]/'],
    ['IPv4-compatible loopback', 'https://[::127.0.0.1]/'],
    ['IPv4-compatible public', 'https://[::8.8.8.8]/'],
    ['NAT64', 'https://[64:ff9b::7f00:1]/'],
    ['NAT64, local use', 'https://[64:ff9b:1::1]/'],
    ['6to4', 'https://[2002:7f00:1::]/'],
    ['Teredo', 'https://[2001::1]/'],
    ['unique local', 'https://[fd00::1]/'],
    ['link-local of IPv6', 'https://[fe80::1]/'],
    ['link-local with a zone', 'https://[fe80::1%25eth0]/'],
    ['site-local', 'https://[fec0::1]/'],
    ['multicast of IPv6', 'https://[ff02::1]/'],
    ['documentation of IPv6', 'https://[2001:db8::1]/'],
  ])('refuses %s', (_what, url) => {
    expect(parseWebhookUrl(url)).toBeNull();
  });
});

describe('an address', () => {
  it.each(['8.8.8.8', '93.184.216.34', '2606:4700:4700::1111', '::ffff:8.8.8.8'])(
    '%s is public',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  it.each([
    '',
    'example.com',
    '127.0.0.1',
    '10.0.0.1',
    'fe80::1%eth0',
    '2606:4700::1%eth0',
    '::7f00:1',
    '8.8.8.8.',
  ])('%s is not', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});
