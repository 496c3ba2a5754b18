import type { Request } from 'express';
import type { Database } from '../../runtime/database/database.ts';
import type { Answer } from '../calls/answer.ts';
import type { BaseUrls } from '../kernel/base-urls.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { ChangeState } from '../time/state-change.ts';
import type { AccessTokens } from './access-tokens.ts';
import { DISCOVERY_PATH, issuerOf, OAUTH_PATHS, resourcesOf } from './addresses.ts';
import { type AuthorizeContext, authorize } from './authorize/authorize.ts';
import { createConsentPages } from './consent/consent-pages.ts';
import { refusalPage } from './consent/refusal-page.ts';
import { describeServer } from './metadata.ts';
import { documentAnswer, jsonAnswer, refusalAnswer } from './oauth-answer.ts';
import { OauthError, PageRefusal } from './oauth-error.ts';
import type { OauthRoutes } from './oauth-router.ts';
import type { PortalSessions } from './portal-session.ts';
import { readForm } from './read-form.ts';
import type { SigningKeys } from './signing-keys.ts';
import { authenticateClient } from './token/authenticate-client.ts';
import { findGrantType } from './token/grant-types.ts';
import { revokeToken } from './token/revoke-token.ts';
import type { TokenContext } from './token/token-context.ts';

interface Options {
  readonly database: Database;
  readonly changeState: ChangeState;
  readonly clock: DomainClock;
  readonly baseUrls: () => BaseUrls;
  readonly keys: SigningKeys;
  readonly tokens: AccessTokens;
  readonly portal: PortalSessions;
  /** Derives user codes. */
  readonly codeKey: Uint8Array;
}

function queryOf({ originalUrl }: Request): string {
  const begin = originalUrl.indexOf('?');
  return begin === -1 ? '' : originalUrl.slice(begin + 1);
}

/** Who cannot be sent back is told here. */
async function onPage(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PageRefusal) return refusalPage(error);
    if (!(error instanceof OauthError)) throw error;
    return refusalPage(new PageRefusal('form', 'The form contains unexpected data.'));
  }
}

/** A client that came with a header is told which scheme it tried (RFC 6749, 5.2). */
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

/** The endpoints of the authorization server. */
export function createOauthRoutes(options: Options): OauthRoutes {
  const { database, changeState, clock, baseUrls, keys, tokens, portal, codeKey } = options;
  const issuer = (): string => issuerOf(baseUrls());
  const resources = (): string[] => Object.values(resourcesOf(baseUrls()));
  const pages = createConsentPages({ database, changeState, clock, portal, key: codeKey, issuer });
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
  const jwks = async (): Promise<Answer> =>
    documentAnswer({ keys: (await keys.shown()).map(({ publicJwk }) => publicJwk) });

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
