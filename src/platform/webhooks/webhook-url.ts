import { isIP } from 'node:net';
import { ASSUMPTIONS } from '../assumptions.ts';
import { isPublicAddress } from './public-address.ts';

const LONGEST_NAME = 253;
/** Only what stays as it is when a URL parser reads it: no control characters, blanks or backslashes. */
const PLAIN_HTTPS = /^https:\/\/[^\s\\\p{Cc}]+$/iu;
const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
/** Names that never lead to a host of the public internet. */
const PRIVATE_SUFFIXES = ['localhost', 'local', 'internal', 'intranet', 'lan', 'home.arpa', 'onion'];

/** The host that a URL names: lower case, without the brackets of IPv6 and without a trailing dot. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

/** Whether a name could be a public host's by its form alone. Says nothing about where it resolves to. */
export function isPublicName(host: string): boolean {
  if (host.length > LONGEST_NAME) return false;
  const labels = host.split('.');
  if (labels.length < 2 || !labels.every((label) => LABEL.test(label))) return false;
  return !PRIVATE_SUFFIXES.some((suffix) => host === suffix || host.endsWith(`.${suffix}`));
}

/**
 * Reads the address of a webhook: HTTPS, no credentials, a public address or the name of what may be a
 * public host; any port. Null when it is not. The parser has by then turned every notation of an IPv4
 * literal (decimal, octal, hexadecimal, short, full-width digits) into dots and digits.
 * Implements `Rules per endpoint, 12-14`.
 */
export function parseWebhookUrl(text: string): URL | null {
  if (
    text.length > ASSUMPTIONS.webhookAddress.value.characters ||
    !PLAIN_HTTPS.test(text) ||
    !URL.canParse(text)
  )
    return null;
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || /^https:\/\/[^/?#]*@/i.test(text)) return null;
  if (url.port === '0') return null;
  const host = hostOf(url);
  const reachable = isIP(host) === 0 ? isPublicName(host) : isPublicAddress(host);
  return reachable ? url : null;
}
