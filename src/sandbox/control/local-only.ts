import type { Request, RequestHandler } from 'express';
import { hostNameOf, isLoopbackHost } from '../../runtime/http-server/loopback.ts';
import { SandboxError } from './sandbox-error.ts';

const LONGEST_NAMED = 100;

/** The refusal of a header, with what it said. */
function refuse(header: string, value: string, instead: string): SandboxError {
  const named = value.length > LONGEST_NAMED ? `${value.slice(0, LONGEST_NAMED)}…` : value;
  return new SandboxError('foreign_origin', `\`${header}: ${named}\` is not this machine. ${instead}`);
}

function single(request: Request, header: string): string | undefined {
  const values = request.headersDistinct[header];
  if (values !== undefined && values.length > 1)
    throw new SandboxError('foreign_origin', `\`${header}\` was sent more than once.`);
  return values?.[0];
}

/**
 * Refuses whatever a page of another origin could send: a `Host` that is not this machine (a rebound name), an
 * `Origin` other than the one that was asked, and what a browser marks as coming from another site. `ownUrl` is named as
 * the one to use.
 */
export function localOnly(ownUrl: () => string, allowedHosts: readonly string[] = []): RequestHandler {
  const names = new Set(allowedHosts.map((host) => host.toLowerCase()));
  return (request, _response, next) => {
    const host = single(request, 'host') ?? '';
    const name = hostNameOf(host);
    if (name === null || !(isLoopbackHost(name) || names.has(name))) {
      throw refuse('Host', host, `Ask ${ownUrl()}, or localhost with the same port.`);
    }
    const origin = single(request, 'origin');
    if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) {
      throw refuse(
        'Origin',
        origin,
        `Only a page of ${ownUrl()} may ask, or a program that sends no Origin.`,
      );
    }
    const site = single(request, 'sec-fetch-site');
    if (site === 'cross-site' || site === 'same-site') {
      throw refuse('Sec-Fetch-Site', site, `Only a page of ${ownUrl()} may ask.`);
    }
    next();
  };
}
