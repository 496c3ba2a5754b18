import * as client from 'openid-client';
import { LIMITS } from '../../contract/service/limits.ts';
import { readTokenAnswer } from '../../contract/service/read-answers.ts';
import { classifyFailure } from '../../patterns/send-policy.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { abortAfter, isLate } from '../../runtime/clock/deadline.ts';
import { isLoopbackHost } from '../../runtime/http-server/loopback.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { NETWORK_FETCH, readAtMost } from '../service-client/call-service.ts';
import { isLostAnswer, ServiceError } from '../service-client/service-errors.ts';
import { callbackUrl, type OauthApp } from './oauth-app.ts';
import { OauthRefusal, OauthUnreachable } from './oauth-errors.ts';

/** Deadline of one request. A refresh makes at most four under one claim: each of its two calls may read the discovery document first. */
export const CALL_DEADLINE_MS = 10_000;
/**
 * Metadata is read again after this time: a document that was wrong for a moment, or an endpoint that moved, must not
 * count for long. If that fails, the previous metadata remains in use.
 */
const METADATA_FRESH_MS = 60_000;
const LARGEST_ANSWER_BYTES = 1024 * 1024;

/** What the token endpoint issued. */
export interface IssuedTokens {
  readonly accessToken: string;
  /** Null if none was issued. After a refresh, the one that was used then stays valid. */
  readonly refreshToken: string | null;
  /** From the response on, in milliseconds. */
  readonly expiresInMs: number;
  /** Null: as requested. */
  readonly scope: string | null;
}

/** What a customer is asked to consent to. */
export interface ConsentRequest {
  readonly state: string;
  readonly codeVerifier: string;
  /** Absent: the scopes that the app is registered for. */
  readonly scopes?: readonly string[] | undefined;
  /** Absent: the customer selects on the consent page. */
  readonly connectionIds?: readonly string[] | undefined;
}

export type AuthorizationServer = ReturnType<typeof createAuthorizationServer>;

/**
 * The client of an authorization server. Only the address of the server is configured; everything else comes
 * from its discovery document. Each call makes one attempt and throws `OauthRefusal` or `OauthUnreachable`.
 */
export function createAuthorizationServer(app: OauthApp, clock: Clock) {
  const exchange = boundedFetch(clock);
  let known: { readonly config: client.Configuration; readonly readAt: number } | undefined;

  async function discover(): Promise<client.Configuration> {
    const now = clock.elapsed();
    if (known !== undefined && now - known.readAt < METADATA_FRESH_MS) return known.config;
    try {
      const config = await client.discovery(
        new URL(app.authUrl),
        app.clientId,
        undefined,
        client.ClientSecretPost(app.clientSecret),
        {
          algorithm: 'oauth2',
          [client.customFetch]: exchange,
          execute: isLoopbackHost(new URL(app.authUrl).hostname) ? [client.allowInsecureRequests] : [],
        },
      );
      known = { config, readAt: now };
      return config;
    } catch (error) {
      if (known !== undefined) return known.config;
      if (isAbsent(error)) throw new OauthUnreachable('absent', error);
      // Whatever the error was, the call that needed the document was not made.
      const failure = describeFailure(error);
      throw failure.mayHaveActed ? new OauthUnreachable('connect', failure) : failure;
    }
  }

  async function call<T>(make: (config: client.Configuration) => Promise<T>): Promise<T> {
    const config = await discover();
    try {
      return await make(config);
    } catch (error) {
      throw describeFailure(error);
    }
  }

  return {
    /** The address for the customer's browser. */
    async authorizationUrl({ state, codeVerifier, scopes, connectionIds }: ConsentRequest): Promise<string> {
      const challenge = await client.calculatePKCECodeChallenge(codeVerifier);
      const url = client.buildAuthorizationUrl(await discover(), {
        redirect_uri: callbackUrl(app),
        state,
        code_challenge: challenge,
        code_challenge_method: 'S256',
        ...(scopes === undefined ? {} : { scope: scopes.join(' ') }),
        ...(connectionIds === undefined ? {} : { connection_ids: connectionIds.join(' ') }),
      });
      return url.href;
    },
    /** Checks `state` and `iss` of the callback, and exchanges the code. */
    async redeem(
      returned: URLSearchParams,
      { state, codeVerifier }: Pick<ConsentRequest, 'state' | 'codeVerifier'>,
    ): Promise<IssuedTokens> {
      const url = new URL(callbackUrl(app));
      url.search = returned.toString();
      const checks = { expectedState: state, pkceCodeVerifier: codeVerifier };
      return readTokens(await call((config) => client.authorizationCodeGrant(config, url, checks)));
    },
    refresh: async (token: string): Promise<IssuedTokens> =>
      readTokens(await call((config) => client.refreshTokenGrant(config, token))),
    /** RFC 7009. Revoking the refresh token ends the whole grant. */
    revoke: (token: string): Promise<void> =>
      call((config) => client.tokenRevocation(config, token, { token_type_hint: 'refresh_token' })),
  };
}

/**
 * After a lost answer, the same token or code is sent once more. If the server had taken it, this ends a grant whose
 * tokens are lost; if not, it saves the grant.
 */
export async function callTwice(logger: Logger, call: () => Promise<IssuedTokens>): Promise<IssuedTokens> {
  try {
    return await call();
  } catch (error) {
    if (!isLostAnswer(error)) throw error;
    logger.warn(
      { err: error, errorCode: error.code },
      'the answer of the authorization server was lost; sending the request once more',
    );
    return await call();
  }
}

function readTokens(answer: client.TokenEndpointResponse): IssuedTokens {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn, scope } = answer;
  return {
    accessToken,
    refreshToken: refreshToken ?? null,
    expiresInMs: expiresIn ? expiresIn * 1_000 : LIMITS.accessTokenLifetimeMs,
    scope: scope ?? null,
  };
}

/** The server answered that it has no discovery document. */
function isAbsent(error: unknown): boolean {
  const answer = error instanceof client.ClientError ? error.cause : undefined;
  return answer instanceof Response && answer.status >= 400 && answer.status < 429;
}

/** Errors of the library contain what the server sent, including tokens. Only codes are passed on. */
function describeFailure(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof client.ResponseBodyError || error instanceof client.AuthorizationResponseError) {
    return new OauthRefusal(error.error);
  }
  if (error instanceof client.WWWAuthenticateChallengeError) return new OauthRefusal('invalid_client');
  if (error instanceof Error && error.cause instanceof ServiceError) return error.cause;
  return new OauthUnreachable('unreadable');
}

/** One attempt with a deadline on the clock port. The response has a limited size and is read completely. */
function boundedFetch(clock: Clock): client.CustomFetch {
  return async (url, { signal: given, body, ...request }) => {
    const call = async (signal: AbortSignal): Promise<Response> => {
      try {
        const answer = await NETWORK_FETCH.any(url, {
          ...request,
          ...(body === undefined ? {} : { body }),
          signal,
        });
        const bytes = await readAtMost(answer, LARGEST_ANSWER_BYTES);
        if (bytes === null) throw new OauthUnreachable('unreadable');
        return (
          (answer.ok ? cleanTokens(bytes) : null) ??
          new Response(bytes.length === 0 ? null : bytes, { status: answer.status, headers: answer.headers })
        );
      } catch (error) {
        if (error instanceof ServiceError) throw error;
        if (isLate(signal)) throw new OauthUnreachable('deadline');
        throw new OauthUnreachable(classifyFailure(error).kind === 'not_sent' ? 'connect' : 'network', error);
      }
    };
    return await abortAfter(clock, CALL_DEADLINE_MS, call, given);
  };
}

/**
 * Tokens that were issued are used, whatever else the answer holds: the server has already invalidated the previous
 * refresh token. The library refuses the whole answer for a field that is null or of another type. Null if the body
 * contains no access token.
 */
function cleanTokens(bytes: Buffer): Response | null {
  try {
    const { access_token, ...others } = readTokenAnswer(JSON.parse(bytes.toString('utf8')));
    const issued = Object.entries(others).filter(([, value]) => value !== null);
    return Response.json({ access_token, token_type: 'Bearer', ...Object.fromEntries(issued) });
  } catch {
    return null;
  }
}
