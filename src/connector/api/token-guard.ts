import { timingSafeEqual } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';
import { CONNECTOR_ENDPOINTS, type ConnectorEndpointName } from '../../contract/connector/endpoints.ts';
import { ALL_RIGHTS_NAME, RIGHTS, type Right } from '../../contract/connector/rights.ts';
import { clientAddress } from '../../runtime/http-server/connections.ts';
import { digest } from '../../runtime/sealing/digest.ts';
import type { Audit } from '../audit/audit.ts';
import { ApiError } from './api-error.ts';

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
export type TokenGuard = ReturnType<typeof createTokenGuard>;

const BEARER = /^Bearer +([^\s]+) *$/i;
/** Key under which the name of the caller is stored. */
const CALLER = 'caller';

/** The token that a request was made with. */
export function tokenOf(response: Response): ApiToken | undefined {
  return response.locals[CALLER] as ApiToken | undefined;
}

/**
 * Protects the API with these tokens. A token is compared with all of them in constant time. Wrong tokens are
 * audited. A valid token is accepted whatever its address did before.
 */
export function createTokenGuard(options: { readonly tokens: readonly ApiToken[]; readonly audit: Audit }) {
  const { audit } = options;
  const known = options.tokens.map((token) => ({ token, hash: hash(token.token) }));

  /** Compares with every token, so that the time taken does not reveal a near match. */
  function find(given: string): ApiToken | undefined {
    const hashed = hash(given);
    let found: ApiToken | undefined;
    for (const { token, hash: expected } of known) if (timingSafeEqual(hashed, expected)) found = token;
    return found;
  }

  /** The caller's token. Throws an `ApiError` without a valid one. */
  function identify(request: Request, response: Response, what: string): ApiToken {
    const before = tokenOf(response);
    if (before !== undefined) return before;
    response.setHeader('Cache-Control', 'no-store');
    const given = BEARER.exec(request.get('authorization') ?? '')?.[1];
    const token = given === undefined ? undefined : find(given);
    if (token === undefined) {
      const result = given === undefined ? 'no_token' : 'unknown_token';
      audit.note('token.refused', { what, result, address: clientAddress(request) });
      response.setHeader('WWW-Authenticate', 'Bearer');
      throw new ApiError('unauthorized', 'Authorization: requires a bearer token of this connector.');
    }
    response.locals[CALLER] = token;
    return token;
  }

  return {
    /** Passes only requests with a valid token; all others get a 401. */
    authenticate(request: Request, response: Response, next: NextFunction): void {
      identify(request, response, `${request.method} ${request.baseUrl || request.path}`);
      next();
    },
    /**
     * Passes only requests whose token has the right that the endpoint requires; for all others, a 403 names
     * the right.
     */
    allow(name: ConnectorEndpointName): Handler {
      const endpoint = CONNECTOR_ENDPOINTS[name];
      if (!('right' in endpoint)) throw new TypeError(`${name} takes no token`);
      const { right, method, path } = endpoint;
      // In braces, the name would be hidden from the log.
      const asked = `${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
      return (request, response, next) => {
        const { name: who, rights } = identify(request, response, asked);
        if (!rights.includes(right)) {
          const address = clientAddress(request);
          audit.note('token.lacks_right', { who, what: asked, result: right, address });
          const message = `The token "${who}" lacks the right "${right}", which ${method} ${path} requires.`;
          throw new ApiError('missing_right', message);
        }
        next();
      };
    },
  };
}

/** Hashed, so that the time taken reveals neither the content nor the length of a token. */
function hash(text: string): Buffer {
  return Buffer.from(digest(text));
}
