import type { Request, RequestHandler } from 'express';
import { hostNameOf, isLoopbackHost } from '../runtime/http-server/loopback.ts';
import { SandboxError } from './sandbox-error.ts';

function single(request: Request, header: string): string | undefined {
  const values = request.headersDistinct[header];
  if (values !== undefined && values.length > 1) throw new SandboxError('foreign_origin');
  return values?.[0];
}

/**
 * Refuses whatever a page of another origin could send: a `Host` that is not this machine (a rebound name), an
 * `Origin` other than the one that was asked, and what a browser marks as coming from another site.
 */
export function localOnly(allowedHosts: readonly string[] = []): RequestHandler {
  const names = new Set(allowedHosts.map((host) => host.toLowerCase()));
  return (request, _response, next) => {
    const host = single(request, 'host') ?? '';
    const name = hostNameOf(host);
    if (name === null || !(isLoopbackHost(name) || names.has(name))) throw new SandboxError('foreign_origin');
    const origin = single(request, 'origin');
    if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) {
      throw new SandboxError('foreign_origin');
    }
    const site = single(request, 'sec-fetch-site');
    if (site === 'cross-site' || site === 'same-site') throw new SandboxError('foreign_origin');
    next();
  };
}
