import { isLoopbackHost } from '../../runtime/http-server/loopback.ts';

/** RFC 8252, 7.1: a private-use scheme is the reversed name of a domain. */
const PRIVATE_USE = /^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+:$/;
/** Whatever else a parser lets pass in a name has a meaning in the header that says where forms may lead. */
const HOST = /^([a-z0-9-]+\.)*[a-z0-9-]+\.?$|^\[[0-9a-f:.]+\]$/;
const PRINTABLE = /^[\x21-\x7e]+$/;

/**
 * Whether an address may be registered: HTTPS, HTTP on the user's own machine, or a private-use scheme; without
 * a fragment (RFC 6749, 3.1.2) and without credentials.
 */
export function isRedirectUri(text: string): boolean {
  if (!PRINTABLE.test(text) || text.includes('#') || !URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== '' || password !== '') return false;
  if (protocol === 'https:') return HOST.test(hostname);
  if (protocol === 'http:') return isLoopbackHost(hostname);
  return PRIVATE_USE.test(protocol);
}

/** Whether an address leads to the user's own machine. */
export function isLoopback(uri: string): boolean {
  return isLoopbackHost(new URL(uri).hostname);
}

/** The address with parameters behind its own, which stay as they were registered (RFC 6749, 3.1.2). */
export function withParameters(
  redirectUri: string,
  parameters: Readonly<Record<string, string | null>>,
): string {
  const added = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== null) added.append(name, value);
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${added}`;
}
