import { isLoopbackHost } from '../http-server/loopback.ts';

/** True for an address to which a secret may be sent: https, or plain http that never leaves the machine. */
export function keepsSecrets(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && (url.protocol === 'https:' || isLoopbackHost(url.hostname));
}
