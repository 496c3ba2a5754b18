import { createHash, timingSafeEqual } from 'node:crypto';
import { eq } from 'drizzle-orm';
import type { Queryable } from '../../../runtime/database/database.ts';
import { orm } from '../../../runtime/database/orm.ts';
import { oauthCodes, oauthGrants } from '../../db/oauth-tables.ts';
import { passed } from '../../kernel/decision-trace.ts';
import { hashSecret } from '../../kernel/secrets.ts';
import type { App } from '../apps.ts';
import { GRANT, resourcesOfGrant } from '../find-grant.ts';
import { OauthError } from '../oauth-error.ts';
import { type Parameters, requireParameter } from '../parameters.ts';
import { readResource } from '../resource-parameter.ts';
import { consume, requireUsable, type StoredSingleUse } from './consume.ts';
import { answerTokens, type TokenAnswer } from './issue-tokens.ts';
import type { TokenContext } from './token-context.ts';

/** RFC 7636, 4.1. */
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

interface StoredCode extends StoredSingleUse {
  readonly redirectUri: string;
  readonly challenge: string;
}

async function findCode(db: Queryable, hash: Buffer): Promise<StoredCode | undefined> {
  const { grantId, redirectUri, challenge, expiresAt, consumedAt } = oauthCodes;
  const [code] = await orm(db)
    .select({ grant: GRANT, redirectUri, challenge, expiresAt, consumedAt })
    .from(oauthCodes)
    .innerJoin(oauthGrants, eq(oauthGrants.id, grantId))
    .where(eq(oauthCodes.hash, hash));
  return code;
}

function readVerifier(parameters: Parameters): string {
  const verifier = requireParameter(parameters, 'code_verifier');
  if (!VERIFIER.test(verifier)) {
    throw new OauthError(
      'invalid_request',
      'code_verifier must have 43 to 128 unreserved characters',
      'verifier',
    );
  }
  return verifier;
}

function fits(verifier: string, challenge: string): boolean {
  const digest = createHash('sha256').update(verifier).digest();
  return timingSafeEqual(digest, Buffer.from(challenge, 'base64url'));
}

/**
 * Exchanges an authorization code for tokens (RFC 6749, 4.1.3). Everything is checked before the code is consumed, so
 * that a request with a wrong redirect URI or verifier does not invalidate it. A second use revokes the grant.
 */
export async function exchangeCode(
  context: TokenContext,
  app: App,
  parameters: Parameters,
): Promise<TokenAnswer> {
  const { database, tokens, resources } = context;
  const hash = hashSecret(requireParameter(parameters, 'code'));
  const redirectUri = requireParameter(parameters, 'redirect_uri');
  const verifier = readVerifier(parameters);
  const found = await findCode(database, hash);
  const code = await requireUsable(context, app, { name: 'the code', found });
  const { grant } = code;
  if (redirectUri !== code.redirectUri) {
    throw new OauthError(
      'invalid_grant',
      'redirect_uri differs from that of the authorization request',
      'redirect_uri',
    );
  }
  passed('redirect_uri');
  // [oauth.code]
  if (!fits(verifier, code.challenge)) {
    throw new OauthError('invalid_grant', 'code_verifier does not match the challenge', 'verifier');
  }
  passed('verifier');
  const resource = readResource(parameters, resourcesOfGrant(grant, resources())) ?? grant.resource;

  const refreshToken = await consume(context, { table: oauthCodes, hash, grantId: grant.id });
  return answerTokens(tokens, grant, grant.scopes, resource, refreshToken);
}
