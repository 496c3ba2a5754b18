import { timingSafeEqual } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';
import { CONNECTOR_ENDPOINTS, type ConnectorEndpointName } from '../../contract/connector/endpoints.ts';
import { CONNECTOR_ERRORS } from '../../contract/connector/errors.ts';
import { ALL_RIGHTS_NAME, RIGHTS, type Right } from '../../contract/connector/rights.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { clientAddress } from '../../runtime/http-server/connections.ts';
import { digest } from '../../runtime/sealing/digest.ts';
import type { Audit } from '../audit/audit.ts';

/** A bearer token of the connector's API and its rights. Several may be valid at the same time. */
export interface ApiToken {
  /** Name of the token in the audit log. */
  readonly name: string;
  readonly rights: readonly Right[];
  readonly token: string;
}

/** The tokens of these settings. The one with all rights is named after its setting. */
export function apiTokensOf(settings: {
  readonly apiToken?: string | undefined;
  readonly apiTokens?: readonly ApiToken[] | undefined;
}): readonly ApiToken[] {
  const { apiToken, apiTokens = [] } = settings;
  if (apiToken === undefined) return apiTokens;
  return [{ name: ALL_RIGHTS_NAME, rights: RIGHTS, token: apiToken }, ...apiTokens];
}

type Handler = (request: Request, response: Response, next: NextFunction) => void;

/** Authenticates callers and checks their rights. */
export interface TokenGuard {
  /** Passes only requests with a valid token; all others get a 401. */
  readonly authenticate: Handler;
  /**
   * Passes only requests whose token has the right that the endpoint requires; for all others, a 403 names
   * the right.
   */
  allow(name: ConnectorEndpointName): Handler;
  /** Sends all delayed responses and delays no more, because the process is stopping. */
  release(): void;
}

const BEARER = /^Bearer +([^\s]+) *$/i;
/** How many wrong tokens from one address are answered without delay per minute. */
const FREE_FAILURES = 60;
const MINUTE_MS = 60_000;
/**
 * How long each further response is delayed, and how many are delayed at the same time: each of them holds a
 * socket.
 */
const HOLD_MS = 1_500;
const MAX_HELD = 64;
const MAX_ADDRESSES = 1_000;
/** Key under which the name of the caller is stored. */
const CALLER = 'caller';

/** The name of the token that a request was made with. */
export function callerOf(response: Response): string | undefined {
  return (response.locals[CALLER] as ApiToken | undefined)?.name;
}

/**
 * Protects the API with these tokens. A token is compared with all of them in constant time. Wrong tokens are
 * audited, and if one address sends many, their responses are delayed. A valid token is never delayed,
 * whatever its address did before.
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

  /** Compares with every token, so that the time taken does not reveal a near match. */
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
    if (failures.size > MAX_ADDRESSES && oldest !== undefined) failures.delete(oldest);
    return current.count > FREE_FAILURES;
  }

  function refuse(request: Request, response: Response, asked: string, isGuess: boolean): void {
    const address = clientAddress(request);
    const result = isGuess ? 'unknown_token' : 'no_token';
    audit.note('token.refused', { what: asked, result, address });
    const answer = (): void => {
      response.setHeader('WWW-Authenticate', 'Bearer');
      const message = 'Authorization: requires a bearer token of this connector.';
      response.status(CONNECTOR_ERRORS.unauthorized.status).json({ error: 'unauthorized', message });
    };
    if (!isGuess || !isOverdone(address) || released || held.size >= MAX_HELD) answer();
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

  /** The caller's token; undefined if the request was rejected and its response was sent or is delayed. */
  function identify(request: Request, response: Response, asked: string): ApiToken | undefined {
    const before = response.locals[CALLER] as ApiToken | undefined;
    if (before !== undefined) return before;
    response.setHeader('Cache-Control', 'no-store');
    const given = BEARER.exec(request.get('authorization') ?? '')?.[1];
    const token = given === undefined ? undefined : find(given);
    if (token === undefined) refuse(request, response, asked, given !== undefined);
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
      // In braces, the name would be hidden from the log.
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
        const message = `The token "${token.name}" lacks the right "${right}", which ${method} ${path} requires.`;
        response.status(CONNECTOR_ERRORS.missing_right.status).json({ error: 'missing_right', message });
      };
    },
    release() {
      released = true;
      for (const end of [...held]) end();
    },
  };
}

/** Hashed, so that the time taken reveals neither the content nor the length of a token. */
function hash(text: string): Buffer {
  return Buffer.from(digest(text));
}
