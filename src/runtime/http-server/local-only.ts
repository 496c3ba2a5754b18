import type { IncomingHttpHeaders } from 'node:http';
import type { Request, RequestHandler } from 'express';
import { hostNameOf, isLoopbackHost } from './loopback.ts';

/** The refusal of a request that a page of another origin could have sent. */
export class LocalRefusal extends Error {
  override readonly name = 'LocalRefusal';
  readonly code: 'foreign_origin' | 'unsupported_media_type';

  constructor(code: LocalRefusal['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const LONGEST_NAMED = 100;

/** The refusal of a header, with its value. */
function refuse(header: string, value: string, instead: string): LocalRefusal {
  const named = value.length > LONGEST_NAMED ? `${value.slice(0, LONGEST_NAMED)}…` : value;
  return new LocalRefusal('foreign_origin', `\`${header}: ${named}\` is not this machine. ${instead}`);
}

function single(request: Request, header: string): string | undefined {
  const values = request.headersDistinct[header];
  if (values !== undefined && values.length > 1)
    throw new LocalRefusal('foreign_origin', `\`${header}\` was sent more than once.`);
  return values?.[0];
}

/** Values of `Host`, without a port, that are accepted besides this machine's own names. */
export interface AllowedHosts {
  readonly names: readonly string[];
  /** The setting that lists them. */
  readonly setting: string;
}

/**
 * Refuses whatever a page of another origin could send: a `Host` that is not this machine (a rebound name), an
 * `Origin` other than the one that was asked, and what a browser marks as coming from another site. `ownUrl` is named as
 * the one to use. `allowed` names further hosts, and the setting that lists them.
 * @throws {LocalRefusal} `foreign_origin`
 */
export function localOnly(ownUrl: () => string, allowed?: AllowedHosts): RequestHandler {
  const names = new Set(allowed?.names.map((host) => host.toLowerCase()));
  const toAllow = allowed === undefined ? '' : ` To allow another name, list it in ${allowed.setting}.`;
  return (request, _response, next) => {
    const host = single(request, 'host') ?? '';
    const name = hostNameOf(host);
    if (name === null || !(isLoopbackHost(name) || names.has(name))) {
      throw refuse('Host', host, `Use ${ownUrl()}, or localhost with the same port.${toAllow}`);
    }
    const origin = single(request, 'origin');
    if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) {
      throw refuse(
        'Origin',
        origin,
        `Only pages of ${ownUrl()}, and programs that send no Origin, are allowed.`,
      );
    }
    const site = single(request, 'sec-fetch-site');
    if (site === 'cross-site' || site === 'same-site') {
      throw refuse('Sec-Fetch-Site', site, `Only pages of ${ownUrl()} are allowed.`);
    }
    next();
  };
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function isJson(type: string | undefined): boolean {
  return type?.split(';')[0]?.trim().toLowerCase() === 'application/json';
}

/**
 * Accepts only JSON. A form of another site cannot send that type without asking first; a write without a
 * body may omit the type.
 * @throws {LocalRefusal} `unsupported_media_type`
 */
export const demandJson: RequestHandler = (request, _response, next) => {
  const type = request.headers['content-type'];
  const reads = request.method === 'GET' || request.method === 'HEAD';
  if (!reads && (type !== undefined || hasBody(request.headers)) && !isJson(type)) {
    throw new LocalRefusal(
      'unsupported_media_type',
      'Requests that write must have the content type `application/json`.',
    );
  }
  next();
};
