import { createHash, timingSafeEqual } from 'node:crypto';
import type { Queryable } from '../../../runtime/database/database.ts';
import { passed } from '../../kernel/decision-trace.ts';
import type { App } from '../apps.ts';
import { GRANT_COLUMNS, type GrantRow, resourcesOfGrant, toGrant } from '../find-grant.ts';
import { OauthError } from '../oauth-error.ts';
import { hashOauthSecret } from '../oauth-secrets.ts';
import { type Parameters, requireParameter } from '../parameters.ts';
import { readResource } from '../resource-parameter.ts';
import { answerTokens, type TokenAnswer } from './issue-tokens.ts';
import type { TokenContext } from './token-context.ts';
import { requireUsable, type StoredSingleUse, useUp } from './use-up.ts';

/** RFC 7636, 4.1. */
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

interface StoredCode extends StoredSingleUse {
  readonly redirectUri: string;
  readonly challenge: string;
}

interface Row extends GrantRow {
  redirect_uri: string;
  challenge: string;
  code_expires_at: number;
  consumed_at: number | null;
}

async function findCode(db: Queryable, hash: Buffer): Promise<StoredCode | null> {
  const [row] = await db.query<Row>(
    `SELECT ${GRANT_COLUMNS}, c.redirect_uri, c.challenge, c.expires_at AS code_expires_at, c.consumed_at
     FROM platform.oauth_codes c JOIN platform.oauth_grants g ON g.id = c.grant_id WHERE c.hash = $1`,
    [hash],
  );
  if (row === undefined) return null;
  const { redirect_uri: redirectUri, challenge, code_expires_at: expiresAt } = row;
  return { grant: toGrant(row), redirectUri, challenge, expiresAt, consumed: row.consumed_at !== null };
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
 * Tokens for an authorization code (RFC 6749, 4.1.3). All is checked before the code is used up: a request with
 * a wrong address or verifier costs its owner nothing. A second use revokes what the first one issued.
 */
export async function exchangeCode(
  context: TokenContext,
  app: App,
  parameters: Parameters,
): Promise<TokenAnswer> {
  const { database, tokens, resources } = context;
  const hash = hashOauthSecret(requireParameter(parameters, 'code'));
  const redirectUri = requireParameter(parameters, 'redirect_uri');
  const verifier = readVerifier(parameters);
  const found = await findCode(database, hash);
  const code = await requireUsable(context, app, { name: 'the code', found });
  const { grant } = code;
  if (redirectUri !== code.redirectUri) {
    throw new OauthError('invalid_grant', 'redirect_uri is not the one of the request', 'redirect_uri');
  }
  passed('redirect_uri');
  // [oauth.code]
  if (!fits(verifier, code.challenge)) {
    throw new OauthError('invalid_grant', 'code_verifier does not fit the challenge', 'verifier');
  }
  passed('verifier');
  const resource = readResource(parameters, resourcesOfGrant(grant, resources())) ?? grant.resource;

  const refreshToken = await useUp(context, { table: 'oauth_codes', hash, grantId: grant.id });
  return answerTokens(tokens, grant, grant.scopes, resource, refreshToken);
}
