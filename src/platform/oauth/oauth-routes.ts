import { timingSafeEqual } from 'node:crypto';
import type { Request } from 'express';
import { SCOPES } from '../../contract/service/scopes.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import type { Answer } from '../calls/answer.ts';
import type { BaseUrls } from '../kernel/base-urls.ts';
import { passed, recognized } from '../kernel/decision-trace.ts';
import { hashSecret } from '../kernel/secrets.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { ChangeState } from '../time/state-change.ts';
import type { AccessTokens } from './access-tokens.ts';
import { DISCOVERY_PATH, issuerOf, OAUTH_PATHS, resourcesOf } from './addresses.ts';
import { type App, findApp } from './apps.ts';
import { type AuthorizeContext, authorize } from './authorize/authorize.ts';
import { createConsentPages } from './consent/consent-pages.ts';
import { refusalPage } from './consent/consent-view.ts';
import { documentAnswer, jsonAnswer, refusalAnswer } from './oauth-answer.ts';
import { OauthError, PageRefusal } from './oauth-error.ts';
import type { OauthRoutes } from './oauth-router.ts';
import { type Parameters, requireParameter } from './parameters.ts';
import type { PortalSessions } from './portal-session.ts';
import { readForm } from './read-form.ts';
import type { SigningKey } from './signing-key.ts';
import { exchangeCode } from './token/exchange-code.ts';
import type { TokenAnswer } from './token/issue-tokens.ts';
import { refreshGrant } from './token/refresh-grant.ts';
import { revokeToken } from './token/revoke-token.ts';
import type { TokenContext } from './token/token-context.ts';

interface Options {
  readonly database: Database;
  readonly changeState: ChangeState;
  readonly clock: DomainClock;
  readonly baseUrls: () => BaseUrls;
  readonly key: SigningKey;
  readonly tokens: AccessTokens;
  readonly portal: PortalSessions;
}

function queryOf({ originalUrl }: Request): string {
  const begin = originalUrl.indexOf('?');
  return begin === -1 ? '' : originalUrl.slice(begin + 1);
}

/** Shows refusals that cannot be redirected on a page. */
async function onPage(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PageRefusal) return refusalPage(error);
    if (!(error instanceof OauthError)) throw error;
    return refusalPage(new PageRefusal('form', 'The form contains unexpected data.'));
  }
}

/** Adds the challenge to the refusal of a client that used a header (RFC 6749, 5.2). */
async function forClients(request: Request, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof OauthError) || error.code !== 'invalid_client') throw error;
    const tried = request.headersDistinct['authorization']?.[0]?.split(' ')[0];
    const scheme = tried !== undefined && /^[A-Za-z]{1,20}$/.test(tried) ? tried : 'Basic';
    return refusalAnswer(error, tried === undefined ? {} : { 'WWW-Authenticate': `${scheme} realm="oauth"` });
  }
}

/**
 * The metadata of the server (RFC 8414, RFC 9207): one method of client authentication, one challenge method, one
 * flow. [oauth.discovery]
 */
function describeServer(baseUrls: BaseUrls): object {
  const issuer = issuerOf(baseUrls);
  return {
    issuer,
    // [oauth.paths]
    authorization_endpoint: issuer + OAUTH_PATHS.authorize,
    token_endpoint: issuer + OAUTH_PATHS.token,
    revocation_endpoint: issuer + OAUTH_PATHS.revoke,
    jwks_uri: issuer + OAUTH_PATHS.jwks,
    scopes_supported: SCOPES,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    // [oauth.client-auth]
    token_endpoint_auth_methods_supported: ['client_secret_post'],
    revocation_endpoint_auth_methods_supported: ['client_secret_post'],
    code_challenge_methods_supported: ['S256'], // [oauth.code]
    authorization_response_iss_parameter_supported: true,
  };
}

/**
 * Authenticates an app by `client_id` and `client_secret` in the form, the only method. Throws the same
 * `invalid_client` for an unknown app, a disabled app and a wrong secret, and `invalid_request` for two methods in one
 * request. [oauth.client-auth]
 */
async function authenticateClient(db: Queryable, request: Request, parameters: Parameters): Promise<App> {
  const secret = parameters.get('client_secret');
  if (request.headersDistinct['authorization'] !== undefined) {
    if (secret !== null)
      throw new OauthError('invalid_request', 'a client must use only one authentication method', 'client');
    throw new OauthError(
      'invalid_client',
      'a client must authenticate with client_secret_post, not with a header',
    );
  }
  const app = await findApp(db, parameters.get('client_id') ?? '');
  if (app !== null) recognized(app.id);
  if (app === null || secret === null || !timingSafeEqual(hashSecret(secret), app.secretHash)) {
    throw new OauthError('invalid_client', 'the client is unknown, or its secret is missing or wrong');
  }
  passed('client');
  return app;
}

type GrantType = (context: TokenContext, app: App, parameters: Parameters) => Promise<TokenAnswer>;

const GRANT_TYPES: ReadonlyMap<string, GrantType> = new Map([
  ['authorization_code', exchangeCode],
  ['refresh_token', refreshGrant],
]);

/** The handler of the grant type. Throws `invalid_request` or `unsupported_grant_type`. */
function findGrantType(parameters: Parameters): GrantType {
  const type = GRANT_TYPES.get(requireParameter(parameters, 'grant_type'));
  if (type === undefined) {
    throw new OauthError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token');
  }
  passed('grant_type');
  return type;
}

/** The endpoints of the authorization server. */
export function createOauthRoutes(options: Options): OauthRoutes {
  const { database, changeState, clock, baseUrls, key, tokens, portal } = options;
  const issuer = (): string => issuerOf(baseUrls());
  const resources = (): string[] => Object.values(resourcesOf(baseUrls()));
  const pages = createConsentPages({ database, changeState, clock, portal, issuer });
  const { ask } = pages;
  const authorizing: AuthorizeContext = { database, changeState, portal, resources, issuer, ask };
  const context: TokenContext = { database, changeState, tokens, resources, now: () => clock.now() };

  const token = async (request: Request): Promise<Answer> => {
    const parameters = await readForm(request);
    const app = await authenticateClient(database, request, parameters);
    return jsonAnswer(200, await findGrantType(parameters)(context, app, parameters));
  };
  const revoke = async (request: Request): Promise<Answer> => {
    const parameters = await readForm(request);
    await revokeToken(context, await authenticateClient(database, request, parameters), parameters);
    return jsonAnswer(200, {});
  };

  const metadata = async (): Promise<Answer> => documentAnswer(describeServer(baseUrls()));
  const jwks = async (): Promise<Answer> => documentAnswer({ keys: [key.publicJwk] });

  return {
    [DISCOVERY_PATH]: { GET: metadata, HEAD: metadata },
    [OAUTH_PATHS.jwks]: { GET: jwks, HEAD: jwks },
    [OAUTH_PATHS.authorize]: {
      GET: (request) => onPage(() => authorize(authorizing, queryOf(request))),
    },
    [OAUTH_PATHS.consent]: {
      GET: (request) => onPage(() => pages.show(request, queryOf(request))),
      POST: (request) => onPage(() => pages.decide(request)),
    },
    [OAUTH_PATHS.token]: { POST: (request) => forClients(request, () => token(request)) },
    [OAUTH_PATHS.revoke]: { POST: (request) => forClients(request, () => revoke(request)) },
  };
}
