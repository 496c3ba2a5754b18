import { isLoopbackHost } from '../../runtime/http-server/loopback.ts';

/** RFC 8252, 7.1: a private-use scheme is a reversed domain name. */
const PRIVATE_USE = /^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+:$/;
/** Other characters that a URL parser accepts in a host have a meaning in Content-Security-Policy. */
const HOST = /^([a-z0-9-]+\.)*[a-z0-9-]+\.?$|^\[[0-9a-f:.]+\]$/;
const PRINTABLE = /^[\x21-\x7e]+$/;

/**
 * Whether a redirect URI may be registered: HTTPS, HTTP on a loopback address, or a private-use scheme; without a
 * fragment (RFC 6749, 3.1.2) and without credentials.
 */
export function isRedirectUri(text: string): boolean {
  if (!PRINTABLE.test(text) || text.includes('#') || !URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== '' || password !== '') return false;
  if (protocol === 'https:') return HOST.test(hostname);
  if (protocol === 'http:') return isLoopbackHost(hostname);
  return PRIVATE_USE.test(protocol);
}

/** Whether a URI has a loopback address. */
export function isLoopback(uri: string): boolean {
  return isLoopbackHost(new URL(uri).hostname);
}

/** Appends parameters to a URI and keeps its registered ones (RFC 6749, 3.1.2). */
export function withParameters(
  redirectUri: string,
  parameters: Readonly<Record<string, string | null>>,
): string {
  const added = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== null) added.append(name, value);
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${added}`;
}
