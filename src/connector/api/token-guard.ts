import { timingSafeEqual } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';
import { CONNECTOR_ENDPOINTS, type ConnectorEndpointName } from '../../contract/connector/endpoints.ts';
import { CONNECTOR_ERRORS } from '../../contract/connector/errors.ts';
import type { Right } from '../../contract/connector/rights.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { clientAddress, vouchFor } from '../../runtime/http-server/connections.ts';
import { digest } from '../../runtime/sealing/digest.ts';
import type { Audit } from '../audit.ts';

/** A bearer token of the connector's API, and what it may do. Several may be valid at once. */
export interface ApiToken {
  /** Tells in the audit trail who it was. */
  readonly name: string;
  readonly rights: readonly Right[];
  readonly token: string;
}

/** The name of the token of `CONNECTOR_API_TOKEN`, which has all rights. */
export const ALL_RIGHTS_NAME = 'CONNECTOR_API_TOKEN';

type Handler = (request: Request, response: Response, next: NextFunction) => void;

/** Checks who calls, and what the caller may do. */
export interface TokenGuard {
  /** Lets only the bearers of a token pass; 401 for everybody else. */
  readonly authenticate: Handler;
  /** Lets only tokens pass that have the right which the endpoint needs; 403 names the right. */
  allow(name: ConnectorEndpointName): Handler;
  /** Answers what is held back, and holds nothing back any more: the process stops. */
  release(): void;
}

const BEARER = /^Bearer +([^\s]+) *$/i;
/** Wrong tokens of one address that are answered at once within a minute. */
const FREE_FAILURES = 60;
const MINUTE_MS = 60_000;
/** How long the answer to each further one is held back, and how many are held at a time: each keeps a socket. */
const HOLD_MS = 1_500;
const MOST_HELD = 64;
const MOST_ADDRESSES = 1_000;
/** Where the name of the caller is kept. */
const CALLER = 'caller';

/** The name of the token that a request came with. */
export function callerOf(response: Response): string | undefined {
  return (response.locals[CALLER] as ApiToken | undefined)?.name;
}

/**
 * Guards the API by these tokens. A token is compared with all of them in constant time. Wrong tokens are audited, and
 * answered later when one address sends many; a valid token is never held back, whatever its address did before.
 */
export function createTokenGuard(options: {
  readonly tokens: readonly ApiToken[];
  readonly audit: Audit;
  readonly clock: Clock;
}): TokenGuard {
  const { audit, clock } = options;
  const known = options.tokens.map((token) => ({ token, hash: hash(token.token) }));
  const failures = new Map<string, { readonly since: number; count: number }>();
  const held = new Set<() => void>();
  let released = false;

  /** Looks at every token, so that the time taken does not show which one was near. */
  function find(given: string): ApiToken | undefined {
    const hashed = hash(given);
    let found: ApiToken | undefined;
    for (const { token, hash: expected } of known) if (timingSafeEqual(hashed, expected)) found = token;
    return found;
  }

  function isOverdone(address: string): boolean {
    const now = clock.elapsed();
    const before = failures.get(address);
    const current =
      before === undefined || now - before.since >= MINUTE_MS ? { since: now, count: 0 } : before;
    current.count += 1;
    failures.delete(address);
    failures.set(address, current);
    const [oldest] = failures.keys();
    if (failures.size > MOST_ADDRESSES && oldest !== undefined) failures.delete(oldest);
    return current.count > FREE_FAILURES;
  }

  function refuse(request: Request, response: Response, asked: string, isGuess: boolean): void {
    const address = clientAddress(request);
    const result = isGuess ? 'unknown_token' : 'no_token';
    audit.note('token.refused', { what: asked, result, address });
    const answer = (): void => {
      response.setHeader('WWW-Authenticate', 'Bearer');
      const message = 'Authorization: needs the bearer token of this connector.';
      response.status(CONNECTOR_ERRORS.unauthorized.status).json({ error: 'unauthorized', message });
    };
    if (!isGuess || !isOverdone(address) || released || held.size >= MOST_HELD) answer();
    else hold(response, answer);
  }

  function hold(response: Response, answer: () => void): void {
    const end = (): void => {
      cancel();
      held.delete(end);
      if (!response.destroyed) answer();
    };
    const cancel = clock.after(HOLD_MS, end);
    held.add(end);
    response.once('close', () => {
      cancel();
      held.delete(end);
    });
  }

  /** The caller's token; undefined when it was refused and answered, or will be. */
  function identify(request: Request, response: Response, asked: string): ApiToken | undefined {
    const before = response.locals[CALLER] as ApiToken | undefined;
    if (before !== undefined) return before;
    response.setHeader('Cache-Control', 'no-store');
    const given = BEARER.exec(request.get('authorization') ?? '')?.[1];
    const token = given === undefined ? undefined : find(given);
    if (token === undefined) refuse(request, response, asked, given !== undefined);
    else vouchFor(request, response);
    response.locals[CALLER] = token;
    return token;
  }

  return {
    authenticate(request, response, next) {
      if (identify(request, response, `${request.method} /v1`) !== undefined) next();
    },
    allow(name) {
      const endpoint = CONNECTOR_ENDPOINTS[name];
      if (!('right' in endpoint)) throw new TypeError(`${name} takes no token`);
      const { right, method, path } = endpoint;
      // In braces it would be hidden from the log.
      const asked = `${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
      return (request, response, next) => {
        const token = identify(request, response, asked);
        if (token === undefined) return;
        if (token.rights.includes(right)) {
          next();
          return;
        }
        const address = clientAddress(request);
        audit.note('token.lacks_right', {
          who: token.name,
          what: asked,
          result: right,
          address,
        });
        const message = `The token "${token.name}" lacks the right "${right}" that ${method} ${path} needs.`;
        response.status(CONNECTOR_ERRORS.missing_right.status).json({ error: 'missing_right', message });
      };
    },
    release() {
      released = true;
      for (const end of [...held]) end();
    },
  };
}

/** Hashed, so that neither the content nor the length of a token shows in the time taken. */
function hash(text: string): Buffer {
  return Buffer.from(digest(text));
}
