import { randomUUID } from 'node:crypto';
import { type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { LIMITS } from '../../contract/service/limits.ts';
import { SCOPES } from '../../contract/service/scopes.ts';
import type { TokenClaims, TokenVerifier } from '../credentials/find-granted.ts';
import type { BaseUrls } from '../kernel/base-urls.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import { issuerOf, resourcesOf } from './addresses.ts';
import { SIGNING_ALGORITHM, type SigningKey } from './signing-key.ts';

/** The content of an access token. */
export interface TokenSubject extends TokenClaims {
  readonly workspaceId: string;
  /** Null: all resources of this server. */
  readonly resource: string | null;
}

/** Access tokens as JWTs (RFC 9068). */
export interface AccessTokens extends TokenVerifier {
  /** Issues a token that is valid for 15 minutes of virtual time. */
  issue(subject: TokenSubject): Promise<string>;
}

interface Options {
  readonly key: SigningKey;
  readonly clock: DomainClock;
  readonly baseUrls: () => BaseUrls;
}

const TYPE = 'at+jwt';
const SECOND = 1_000;
const REQUIRED = ['exp', 'iat', 'jti', 'sub', 'client_id', 'grant_id', 'scope'];

function readText(payload: JWTPayload, claim: string): string {
  const value = payload[claim];
  if (typeof value !== 'string') throw new Error(`the claim ${claim} is not a string`);
  return value;
}

export function createAccessTokens({ key, clock, baseUrls }: Options): AccessTokens {
  return {
    async issue({ grantId, appId, scopes, workspaceId, resource }) {
      const urls = baseUrls();
      const issuedAt = Math.floor(clock.now() / SECOND);
      // [auth.oauth.token] [limits.tokens]
      return new SignJWT({ client_id: appId, grant_id: grantId, scope: scopes.join(' ') })
        .setProtectedHeader({ alg: SIGNING_ALGORITHM, typ: TYPE, kid: key.kid })
        .setIssuer(issuerOf(urls))
        .setAudience(resource === null ? Object.values(resourcesOf(urls)) : resource)
        .setSubject(workspaceId)
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + LIMITS.accessTokenLifetimeMs / SECOND)
        .setJti(randomUUID())
        .sign(key.privateKey);
    },

    async verify(token, audience) {
      const urls = baseUrls();
      const resources = resourcesOf(urls);
      const pickKey = ({ kid }: { readonly kid?: string }) => {
        if (kid !== key.kid) throw new Error('unknown signing key');
        return key.publicKey;
      };
      const { payload } = await jwtVerify(token, pickKey, {
        algorithms: [SIGNING_ALGORITHM],
        typ: TYPE,
        issuer: issuerOf(urls),
        audience: audience === 'any' ? Object.values(resources) : resources[audience],
        currentDate: new Date(clock.now()),
        requiredClaims: REQUIRED,
      });
      const given = new Set(readText(payload, 'scope').split(' '));
      return {
        grantId: readText(payload, 'grant_id'),
        appId: readText(payload, 'client_id'),
        scopes: SCOPES.filter((scope) => given.has(scope)),
      };
    },
  };
}
