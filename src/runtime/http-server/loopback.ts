const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** True for a host, as written by `URL.hostname`, that names this machine by its loopback interface. */
export function isLoopbackHost(hostname: string): boolean {
  return LOOPBACK.test(hostname);
}

/** True for an address to listen on, as written in a setting, that other machines cannot reach. */
export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || isLoopbackHost(address);
}

/** The host name of an authority (`name:port`), in lower case; null if the value is not an authority. */
export function hostNameOf(authority: string): string | null {
  if (!URL.canParse(`http://${authority}`)) return null;
  const { hostname, host, username, pathname, search, hash } = new URL(`http://${authority}`);
  const isBare = username === '' && pathname === '/' && search === '' && hash === '';
  return isBare && host !== '' ? hostname : null;
}
