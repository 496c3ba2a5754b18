import { isIP } from 'node:net';
import { isPublicAddress } from '../../runtime/public-network/public-address.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';

const LONGEST_NAME = 253;
/** A URL that a parser does not change: without control characters, spaces and backslashes. */
const PLAIN_URL = /^[a-z]+:\/\/([^\s\\\p{Cc}/?#]+)[^\s\\\p{Cc}]*$/iu;
/** The host as it is written, and a port; no credentials. */
const HOST_AND_PORT = /^(\[[^[\]@]+\]|[^:@[\]]+)(?::\d{1,5})?$/u;
const ASCII = /^[\x21-\x7e]+$/;
const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
/** Suffixes of names that are never on the public internet. */
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

/** The host of a URL: lower case, without IPv6 brackets and without a trailing dot. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

/** Whether a name has the form of a public host's. It does not resolve the name. */
export function isPublicName(host: string): boolean {
  if (host.length > LONGEST_NAME) return false;
  const labels = host.split('.');
  if (labels.length < 2 || !labels.every((label) => LABEL.test(label))) return false;
  return !PRIVATE_SUFFIXES.some((suffix) => host === suffix || host.endsWith(`.${suffix}`));
}

/**
 * Whether a host is in its usual notation: an IPv4 address in dotted decimal, a name in letters. Other notations of an
 * address (decimal, octal, hexadecimal, short) and characters that represent or resemble others (percent-encoded,
 * full-width, circled) hide the target of a URL.
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

/** Why a host cannot be that of a webhook, by its form; null if it can be. */
function whyNotPublic(host: string): string | null {
  // [webhook.url.private]
  if (isIP(host) !== 0) return isPublicAddress(host) ? null : 'the host is a private address';
  if (isPublicName(host)) return null;
  // [webhook.url.localhost]
  if (host === 'localhost' || host.endsWith('.localhost')) return 'the host is localhost';
  return host.includes('.') ? 'the host has a name of a private network' : 'the name of the host has no dot';
}

/**
 * Parses the URL of a webhook: HTTPS, without credentials, with a public address or the name of a possibly public host
 * in usual notation, and any port but 0. Returns the reason, as a phrase, if it is not valid. Implements
 * `Rules per endpoint, 12-14`. [webhook.config.url] [errors.invalid_webhook]
 */
export function parseWebhookUrl(text: string): URL | string {
  const { characters } = ASSUMPTIONS.webhookAddress.value;
  if (text.length > characters) return `it has more than ${characters} characters`;
  if (!URL.canParse(text)) return 'it is not a URL';
  const url = new URL(text);
  // [webhook.url.https]
  if (url.protocol !== 'https:') return 'it is not https';
  const authority = PLAIN_URL.exec(text)?.[1];
  if (authority === undefined) return 'it is malformed: spaces, backslashes or slashes';
  if (authority.includes('@')) return 'it contains a user name or password';
  const written = HOST_AND_PORT.exec(authority)?.[1];
  if (written === undefined || url.port === '0') return 'the host or the port is malformed';
  // Checked before the notation, because a private target is the more useful reason.
  const host = hostOf(url);
  const why = whyNotPublic(host);
  if (why !== null) return why;
  return isWrittenPlainly(written, url.hostname) ? url : 'the host is not in its usual notation';
}
