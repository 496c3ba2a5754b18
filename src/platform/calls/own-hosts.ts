import type { RequestHandler } from 'express';
import { findEntry } from '../../runtime/addresses/address-ranges.ts';
import { hostNameOf, isLoopbackHost } from '../../runtime/http-server/loopback.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import { refusal, writeAnswer } from './answer.ts';

interface Options {
  /** Any address of the service, read on each request. */
  readonly ownUrl: () => string;
  /** Proxies send whatever host they were asked for. */
  readonly trustedProxies: readonly string[];
}

// [choice.host.foreign]
const FOREIGN = new PlatformError(ASSUMPTIONS.foreignHost.value, {
  field: 'Host',
  hint: 'must be 127.0.0.1, localhost or [::1] while the service has no other address',
});

/**
 * On a loopback address the service is asked for by the names of this machine alone: a web page whose own name was
 * made to lead here (DNS rebinding) is refused. A service with a public address leaves that to whoever serves its name.
 */
export function ownHostsOnly({ ownUrl, trustedProxies }: Options): RequestHandler {
  return (request, response, next) => {
    const isOurs = (host: string): boolean => isLoopbackHost(hostNameOf(host) ?? '');
    const hosts = request.headersDistinct['host'] ?? [];
    const isForeign = isLoopbackHost(new URL(ownUrl()).hostname) && !hosts.every(isOurs);
    const { remoteAddress = '' } = request.socket;
    if (!isForeign || findEntry(trustedProxies, remoteAddress) !== null) next();
    else writeAnswer(response, refusal(FOREIGN));
  };
}
