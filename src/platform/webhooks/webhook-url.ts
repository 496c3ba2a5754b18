import { isIP } from 'node:net';
import { isPublicAddress } from '../../runtime/public-network/public-address.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';

const LONGEST_NAME = 253;
/**
 * Only what stays as it is when a URL parser reads it: no control characters, blanks or backslashes.
 * [webhook.url.https]
 */
const PLAIN_HTTPS = /^https:\/\/([^\s\\\p{Cc}/?#]+)[^\s\\\p{Cc}]*$/iu;
/** A host as it is written, and a port. Leaves no room for credentials. */
const HOST_AND_PORT = /^(\[[^[\]@]+\]|[^:@[\]]+)(?::\d{1,5})?$/u;
const ASCII = /^[\x21-\x7e]+$/;
const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
/** Names that never lead to a host of the public internet. */
const PRIVATE_SUFFIXES = [
  'localhost',
  'localdomain',
  'localdomain6',
  'local',
  'internal',
  'intranet',
  'lan',
  'arpa',
  'onion',
  'invalid',
];

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
 * Whether a host is written as what it is: an IPv4 address in dots and digits, a name in letters. Any other
 * notation of an address (decimal, octal, hexadecimal, short), and letters, digits and dots that only look
 * like or stand for others (percent-encoded, full-width, circled), hide where a URL leads.
 */
function isWrittenPlainly(written: string, hostname: string): boolean {
  if (written.startsWith('[')) return true;
  const labels = written.split('.');
  const parsed = hostname.split('.');
  return (
    labels.length === parsed.length &&
    labels.every((label, place) =>
      label === '' || ASCII.test(label)
        ? label.toLowerCase() === parsed[place]
        : parsed[place]?.startsWith('xn--') === true,
    )
  );
}

/** Why a host cannot be that of a webhook, by its form alone; null: it may be. */
function whyNotPublic(host: string): string | null {
  // [webhook.url.private]
  if (isIP(host) !== 0) return isPublicAddress(host) ? null : 'the host is a private address';
  if (isPublicName(host)) return null;
  // [webhook.url.localhost]
  if (host === 'localhost' || host.endsWith('.localhost')) return 'the host is localhost';
  return host.includes('.') ? 'the host has a name of a private network' : 'the name of the host has no dot';
}

/**
 * Reads the address of a webhook: HTTPS, no credentials, a public address or the name of what may be a
 * public host, plainly written; any port but 0. Why it is not, as a phrase, when it is not. Implements
 * `Rules per endpoint, 12-14`. [webhook.config.url] [errors.invalid_webhook]
 */
export function parseWebhookUrl(text: string): URL | string {
  const { characters } = ASSUMPTIONS.webhookAddress.value;
  if (text.length > characters) return `it has more than ${characters} characters`;
  if (!URL.canParse(text)) return 'it is not a URL';
  const url = new URL(text);
  // [webhook.url.https]
  if (url.protocol !== 'https:') return 'it is not https';
  const authority = PLAIN_HTTPS.exec(text)?.[1];
  if (authority === undefined) return 'it is not written as a URL is: blanks, backslashes or slashes';
  if (authority.includes('@')) return 'it contains a user name or password';
  const written = HOST_AND_PORT.exec(authority)?.[1];
  if (written === undefined || url.port === '0') return 'the host or the port is malformed';
  // First: how an address is written matters less than where it leads.
  const host = hostOf(url);
  const why = whyNotPublic(host);
  if (why !== null) return why;
  return isWrittenPlainly(written, url.hostname) ? url : 'the host is not written plainly';
}
