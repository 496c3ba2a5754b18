import { randomBytes, randomUUID } from 'node:crypto';
import { and, eq, gt, isNull, lt } from 'drizzle-orm';
import type { StartGrantRequest } from '../../contract/connector/accounts.ts';
import { isConnectionFailure, type Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { isNamedHost } from '../../runtime/public-network/is-named-host.ts';
import { digest } from '../../runtime/sealing/digest.ts';
import { equalSecrets } from '../../runtime/sealing/equal-secrets.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { insertAccount, renewCredential } from '../accounts/account-store.ts';
import { resumePolls } from '../accounts/poll-state.ts';
import type { Base } from '../db/base.ts';
import { retryCommit } from '../db/retry-commit.ts';
import { accounts, oauthFlows } from '../db/schema.ts';
import { authorizationUrlContext, verifierContext } from '../db/sealed-columns.ts';
import { ServiceError } from '../service-client/service-errors.ts';
import { type AuthorizationServer, callTwice, type IssuedTokens } from './authorization-server.ts';
import { checkGrant, type GrantedNumber, readNumbers } from './check-grant.ts';
import { type GrantRow, openTokens, putGrant, readGrant, sealTokens } from './grant-store.ts';
import { type OauthApp, startUrl } from './oauth-app.ts';
import { OauthRefusal } from './oauth-errors.ts';

/** Time for a person to read, sign in, and possibly obtain a user code. */
const FLOW_LIFETIME_MS = 60 * 60_000;
/** How long the outcome of a consent can be read after that. */
const KEPT_MS = 24 * 60 * 60_000;
/** Half a kilobyte: longer than any state or start token of ours. */
const LONGEST_SECRET = 512;

export interface ConsentsOptions extends Base {
  readonly keyRing: KeyRing;
  /** `{base_url}` of the service. */
  readonly baseUrl: string;
  /** The subscription of the app. */
  readonly subscriptionId: string;
  readonly server: AuthorizationServer;
  readonly app: OauthApp;
  /**
   * Called for an account that is new or has a new grant. The grant is already stored; an error of this
   * function is logged.
   */
  readonly onGranted: (accountId: string, renewed: boolean) => Promise<void>;
  /** Revokes a refresh token that is no longer needed. Never rejects. */
  readonly revoke: (refreshToken: string) => Promise<void>;
}

/** Where to send a customer. */
export interface StartedConsent {
  /** The start address, at the connector itself. */
  readonly authorizationUrl: string;
  /** Epoch ms. */
  readonly expiresAt: number;
}

/** The cookie that the browser has for a consent; null if it has none. */
export type SecretOf = (flowId: string) => string | null;

/**
 * How a consent ended, or why this browser cannot continue it:
 * - `connected`: the account is stored. `again`: it was already stored by an earlier visit.
 * - `unknown`: no consent has this state or start token, or it was deleted long ago.
 * - `used`: an earlier visit used it and did not connect, or is still in progress.
 * - `expired`: it took too long.
 * - `other_browser`: a different browser started it. Nothing was changed, and that browser may continue.
 * - `failed`: the code gives the reason, see `OauthRefusal` and `OauthUnreachable`.
 */
export type ConsentEnd =
  | {
      readonly kind: 'connected';
      readonly accountId: string;
      readonly again: boolean;
      readonly numbers: readonly GrantedNumber[];
    }
  | { readonly kind: 'unknown' | 'used' | 'expired' | 'other_browser' }
  | { readonly kind: 'failed'; readonly code: string };

/** The result of a visit that ends a consent. */
export interface FinishedConsent {
  readonly end: ConsentEnd;
  /** Where the browser is sent; null for nowhere. */
  readonly returnUrl: string | null;
  /** The account that was to be renewed, and the CRM's own id; null if unknown or not given. */
  readonly accountId: string | null;
  readonly reference: string | null;
}

/**
 * Result of a visit to a start address:
 * - `ask`: no browser has the consent yet; a person is asked to continue.
 * - `go_on`: this browser has the consent and is sent to the service.
 * - `closed`: the consent cannot continue.
 */
export type OpenedConsent =
  | { readonly kind: 'ask'; readonly flow: Flow; readonly lifetimeMs: number }
  | { readonly kind: 'go_on'; readonly authorizationUrl: string }
  | { readonly kind: 'closed'; readonly finished: FinishedConsent };

const UNKNOWN: FinishedConsent = {
  end: { kind: 'unknown' },
  returnUrl: null,
  accountId: null,
  reference: null,
};

function finished(flow: Flow, end: ConsentEnd): FinishedConsent {
  // A browser that did not start the consent is redirected nowhere.
  const returnUrl = end.kind === 'other_browser' ? null : flow.returnUrl;
  return { end, returnUrl, accountId: flow.accountId, reference: flow.reference };
}

/** Compared in constant time. Until a browser has continued, the consent belongs to none. */
function isItsBrowser(flow: Flow, secretOf: SecretOf): boolean {
  const secret = secretOf(flow.id);
  return flow.browser !== null && secret !== null && equalSecrets(digest(secret), flow.browser);
}

export type Consents = ReturnType<typeof createConsents>;

/**
 * Starts and finishes consents: the authorization code flow with PKCE S256, a single-use `state`, and a check of `iss`.
 * A consent that one process started can be finished by any other.
 *
 * A consent belongs to one browser. The CRM's customer receives a start address of the connector; the browser
 * that continues from there gets a cookie, and a code is redeemed only with that cookie. So an attacker who
 * forwards the address of the service to a victim does not obtain the victim's connections.
 */
export function createConsents(options: ConsentsOptions) {
  const { database, keyRing, clock, logger, server, app } = options;

  /** For the work on a grant whose code is redeemed, so that it cannot be obtained again. */
  const insist = <T>(work: () => Promise<T>): Promise<T> =>
    retryCommit(clock, work, (err) => logger.warn({ err }, 'a new grant could not be stored; retrying'));

  /** The code was redeemed; the tokens are stored or revoked. */
  async function keep(flow: Flow, issued: IssuedTokens): Promise<ConsentEnd> {
    const { objection, numbers } = await insist(() => checkGrant(options, flow.accountId, issued));
    if (objection !== null) {
      if (issued.refreshToken !== null) await options.revoke(issued.refreshToken);
      return await fail(flow, objection);
    }
    const grant = await sealGrant(options, flow, issued);
    const stored = await insist(() => storeGrant(options, flow, grant)).catch(async (error: unknown) => {
      // If it is unknown whether it is stored, it stays valid.
      if (issued.refreshToken !== null && !isConnectionFailure(error))
        await options.revoke(issued.refreshToken);
      throw error;
    });
    if (stored === null) {
      if (issued.refreshToken !== null) await options.revoke(issued.refreshToken);
      return await fail(flow, 'account_removed');
    }
    const { accountId, replaced } = stored;
    logger.info({ accountId }, 'a customer has consented');
    await options.onGranted(accountId, flow.accountId !== null).catch((err: unknown) => {
      logger.warn(
        { err, accountId },
        'a grant was stored, but its account could not be started; retrying later',
      );
    });
    if (replaced !== null) await options.revoke(replaced);
    return { kind: 'connected', accountId, again: false, numbers };
  }

  async function fail(flow: Flow, code: string): Promise<ConsentEnd> {
    logger.warn({ errorCode: code }, 'a consent did not result in a grant');
    await noteFailure(database, flow.id, code);
    return { kind: 'failed', code };
  }

  /** The state of a consent that cannot be used, as shown to the browser that has it. */
  async function explain({ outcome, accountId, usedAt }: Flow): Promise<ConsentEnd> {
    if (outcome === 'connected' && accountId !== null) {
      return { kind: 'connected', accountId, again: true, numbers: await readNumbers(database, accountId) };
    }
    return { kind: usedAt === null ? 'expired' : 'used' };
  }

  /** Redeems the code of a consent that this callback has marked as used. */
  async function redeem(flow: Flow, returned: URLSearchParams, state: string): Promise<ConsentEnd> {
    const codeVerifier = await keyRing.open(flow.sealedVerifier, verifierContext(flow.id));
    let issued: IssuedTokens;
    try {
      issued = await callTwice(logger, () => server.redeem(returned, { state, codeVerifier }));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return await fail(flow, error instanceof OauthRefusal ? error.error : error.code);
    }
    return await keep(flow, issued);
  }

  function isOver({ usedAt, expiresAt }: Flow): boolean {
    return usedAt === null && expiresAt <= clock.now();
  }

  /** Reads where a start token leads. Changes nothing. Throws what the database throws. */
  async function open(token: string, secretOf: SecretOf): Promise<OpenedConsent> {
    const flow = token.length > LONGEST_SECRET ? null : await readStartedFlow(database, digest(token));
    if (flow === null) return { kind: 'closed', finished: UNKNOWN };
    const closed = (end: ConsentEnd): OpenedConsent => ({ kind: 'closed', finished: finished(flow, end) });
    if (isOver(flow)) return closed({ kind: 'expired' });
    if (flow.browser === null) return { kind: 'ask', flow, lifetimeMs: flow.expiresAt - clock.now() };
    if (!isItsBrowser(flow, secretOf)) return closed({ kind: 'other_browser' });
    if (flow.usedAt !== null || flow.sealedAuthorizationUrl === null) return closed(await explain(flow));
    const context = authorizationUrlContext(flow.id);
    return { kind: 'go_on', authorizationUrl: await keyRing.open(flow.sealedAuthorizationUrl, context) };
  }

  return {
    /** Whether a consent may redirect its customer to this address, see `isNamedHost`. */
    mayReturnTo: (returnUrl: string): boolean =>
      isNamedHost(returnUrl, { own: app.publicUrl, others: app.returnHosts }),
    /** Throws a `ServiceError` if the authorization server cannot be found, or what the database throws. */
    async begin({
      accountId,
      label,
      reference,
      scopes,
      connectionIds,
      returnUrl,
    }: StartGrantRequest): Promise<StartedConsent> {
      const [state, codeVerifier, startToken] = [makeSecret(), makeSecret(), makeSecret()];
      const address = await server.authorizationUrl({ state, codeVerifier, scopes, connectionIds });
      const id = digest(state);
      const createdAt = clock.now();
      const expiresAt = createdAt + FLOW_LIFETIME_MS;
      await insertFlow(
        database,
        {
          id,
          startId: digest(startToken),
          accountId: accountId ?? null,
          label: label ?? null,
          reference: reference ?? null,
          returnUrl: returnUrl ?? null,
          sealedVerifier: await keyRing.seal(codeVerifier, verifierContext(id)),
          sealedAuthorizationUrl: await keyRing.seal(address, authorizationUrlContext(id)),
          createdAt,
          expiresAt,
        },
        KEPT_MS,
      );
      return { authorizationUrl: startUrl(app, startToken), expiresAt };
    },
    open,
    /**
     * Binds the consent to this browser, if it has a cookie and no other browser has the consent. The same
     * browser may repeat this. Throws what the database throws.
     */
    async goOn(token: string, secretOf: SecretOf): Promise<OpenedConsent> {
      const opened = await open(token, secretOf);
      const secret = opened.kind === 'ask' ? secretOf(opened.flow.id) : null;
      if (opened.kind !== 'ask' || secret === null) return opened;
      await bindFlow(database, opened.flow.id, digest(secret), clock.now());
      // Another browser may have been faster.
      return await open(token, secretOf);
    },
    /** Processes the callback of the customer's browser. Throws what the database throws. */
    async finish(returned: URLSearchParams, secretOf: SecretOf): Promise<FinishedConsent> {
      const [state, ...others] = returned.getAll('state');
      if (state === undefined || others.length > 0 || state.length > LONGEST_SECRET) return UNKNOWN;
      const flow = await readFlow(database, digest(state));
      if (flow === null) return UNKNOWN;
      if (isOver(flow)) return finished(flow, { kind: 'expired' });
      if (!isItsBrowser(flow, secretOf)) return finished(flow, { kind: 'other_browser' });
      if (await takeFlow(database, flow.id, clock.now())) {
        return finished(flow, await redeem(flow, returned, state));
      }
      const taken = (await readFlow(database, flow.id)) ?? flow;
      return finished(taken, await explain(taken));
    },
  };
}

function makeSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Result of storing a grant. */
interface StoredGrant {
  readonly accountId: string;
  /** The previous refresh token, which may still be valid; null if there was none. */
  readonly replaced: string | null;
}

/** A grant as it is stored, in the account of its consent or in a new one. */
async function sealGrant({ keyRing, clock }: ConsentsOptions, { accountId }: Flow, issued: IssuedTokens) {
  const [id, now] = [accountId ?? randomUUID(), clock.now()];
  const pair = await sealTokens(keyRing, id, issued, now);
  return { ...pair, accountId: id, scope: issued.scope, refreshedAt: now };
}

/**
 * Stores the result of a consent, as a new account or in place of the previous grant of an account. Everything
 * else of that account is unchanged, and work that waited for the consent continues. Null if the account was
 * removed in the meantime. Safe to repeat. Throws what the database throws.
 */
async function storeGrant(
  options: ConsentsOptions,
  flow: Flow,
  grant: Awaited<ReturnType<typeof sealGrant>>,
): Promise<StoredGrant | null> {
  const { database, keyRing, baseUrl, subscriptionId } = options;
  const { accountId, refreshedAt: now } = grant;
  const before = await database.transaction(async (tx): Promise<GrantRow | null | 'gone'> => {
    // It belongs to this app from now on, even if another app created it.
    const { label, reference } = flow;
    const isIt = and(eq(accounts.id, accountId), eq(accounts.kind, 'oauth'));
    const kept = { label: label ?? undefined, reference: reference ?? undefined, baseUrl, subscriptionId };
    if (flow.accountId === null)
      await insertAccount(tx, { ...kept, id: accountId, kind: 'oauth', createdAt: now });
    else if (!(await renewCredential(tx, isIt, kept))) return 'gone';
    const replaced = await readGrant(tx, accountId);
    await putGrant(tx, grant);
    await resumePolls(tx, accountId, now);
    await noteConnected(tx, flow.id, accountId);
    return replaced;
  });
  if (before === 'gone') return null;
  // After a commit that was not answered, it is the grant itself.
  const isItself = equalSecrets(before?.sealedRefreshToken ?? '', grant.sealedRefreshToken ?? '');
  const stillGood = before !== null && before.endedAt === null && !isItself;
  return { accountId, replaced: stillGood ? (await openTokens(keyRing, before)).refreshToken : null };
}

/**
 * A stored consent. `outcome` is `connected`, or the code of a failure; null if it was not used, or a process
 * died while using it. Times in epoch milliseconds.
 */
export type Flow = typeof oauthFlows.$inferSelect;

/** Stores a consent, and deletes those that expired more than `keptMs` ago. */
async function insertFlow(
  db: Queryable,
  flow: typeof oauthFlows.$inferInsert,
  keptMs: number,
): Promise<void> {
  await orm(db).insert(oauthFlows).values(flow);
  await orm(db)
    .delete(oauthFlows)
    .where(lt(oauthFlows.expiresAt, flow.createdAt - keptMs));
}

/** The consent with this id; null if there is none. */
async function readFlow(db: Queryable, id: string): Promise<Flow | null> {
  const [flow] = await orm(db).select().from(oauthFlows).where(eq(oauthFlows.id, id));
  return flow ?? null;
}

/** The consent with this start token; null if there is none. */
export async function readStartedFlow(db: Queryable, startId: string): Promise<Flow | null> {
  const [flow] = await orm(db).select().from(oauthFlows).where(eq(oauthFlows.startId, startId));
  return flow ?? null;
}

/** Not used and not expired. */
const isOpen = (id: string, now: number) =>
  and(eq(oauthFlows.id, id), isNull(oauthFlows.usedAt), gt(oauthFlows.expiresAt, now));

/** Binds a consent to the browser with this cookie, unless it is bound already. */
export async function bindFlow(db: Queryable, id: string, browser: string, now: number): Promise<void> {
  await orm(db)
    .update(oauthFlows)
    .set({ browser })
    .where(and(isOpen(id, now), isNull(oauthFlows.browser)));
}

/** Marks a consent as used: true for one callback, in any process. False if it was already used or has expired. */
async function takeFlow(db: Queryable, id: string, now: number): Promise<boolean> {
  const taken = await orm(db)
    .update(oauthFlows)
    .set({ usedAt: now })
    .where(isOpen(id, now))
    .returning({ id: oauthFlows.id });
  return taken.length > 0;
}

/** Stores that a consent resulted in no grant, for repeated visits. */
async function noteFailure(db: Queryable, id: string, code: string): Promise<void> {
  await orm(db).update(oauthFlows).set({ outcome: code }).where(eq(oauthFlows.id, id));
}

/** Stores the account that received the grant of a consent. */
async function noteConnected(db: Queryable, id: string, accountId: string): Promise<void> {
  await orm(db).update(oauthFlows).set({ outcome: 'connected', accountId }).where(eq(oauthFlows.id, id));
}
