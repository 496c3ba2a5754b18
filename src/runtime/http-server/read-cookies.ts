/**
 * The cookies of a `Cookie` header by name, in order: browsers send the oldest first (RFC 6265, 5.4). If
 * several have the same name, the first one counts.
 */
export function readCookies(header: string | undefined): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>();
  for (const pair of (header ?? '').split(';')) {
    const [name = '', value] = pair.trim().split('=', 2);
    if (value !== undefined && !cookies.has(name)) cookies.set(name, value);
  }
  return cookies;
}
