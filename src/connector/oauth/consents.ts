import { randomBytes } from 'node:crypto';
import type { StartGrantRequest } from '../../contract/connector/accounts.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { isNamedHost } from '../../runtime/public-network/is-named-host.ts';
import { digest } from '../../runtime/sealing/digest.ts';
import { equalSecrets } from '../../runtime/sealing/equal-secrets.ts';
import { authorizationUrlContext, verifierContext } from '../db/sealed-columns.ts';
import { ServiceError } from '../service-client/service-errors.ts';
import type { AuthorizationServer, IssuedTokens } from './authorization-server.ts';
import {
  bindFlow,
  type Flow,
  insertFlow,
  noteFailure,
  readFlow,
  readStartedFlow,
  takeFlow,
} from './flow-store.ts';
import { type GrantedNumber, lookAtGrant, readNumbers } from './look-at-grant.ts';
import { type OauthApp, startUrl } from './oauth-app.ts';
import { OauthRefusal } from './oauth-errors.ts';
import { type StoreGrantOptions, storeGrant } from './store-grant.ts';

/** A person reads, signs in, and perhaps asks somebody for a user code. */
const FLOW_LIFETIME_MS = 60 * 60_000;
/** What became of a flow can be read so much longer. */
const FORGET_AFTER_MS = 24 * 60 * 60_000;
/** Half a kilobyte is more than any state or start token of ours. */
const LONGEST_SECRET = 512;

export interface ConsentsOptions extends StoreGrantOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly server: AuthorizationServer;
  readonly app: OauthApp;
  /** Told of an account that is new or has a new grant. It is kept already; what this throws is logged. */
  readonly onGranted: (accountId: string, renewed: boolean) => Promise<void>;
  /** Gives a refresh token back that nobody needs any more. Never rejects. */
  readonly revoke: (refreshToken: string) => Promise<void>;
}

/** Where a customer is sent. */
export interface StartedConsent {
  /** The start address, at the connector itself. */
  readonly authorizationUrl: string;
  /** Epoch ms. */
  readonly expiresAt: number;
}

/** The cookie that the browser has for a flow; null: none. */
export type SecretOf = (flowId: string) => string | null;

/**
 * How a consent ended, or why it does not go on here:
 * - `connected`: the account is kept. `again`: it was before, by an earlier visit.
 * - `unknown`: no consent was begun with this state or start token, or it was long ago.
 * - `used`: an earlier visit used it up and has not connected, or is still at it.
 * - `expired`: it took too long.
 * - `other_browser`: this browser did not begin it. Nothing was changed: the one that did may go on.
 * - `failed`: the code says why, see `OauthRefusal` and `OauthUnreachable`.
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

/** A visit that is done with. */
export interface FinishedConsent {
  readonly end: ConsentEnd;
  /** Where its browser goes from here; null: nowhere. */
  readonly returnUrl: string | null;
  /** The account that was to be renewed, and the CRM's own id; null: unknown, or none was given. */
  readonly accountId: string | null;
  readonly reference: string | null;
}

/**
 * What a visit to a start address leads to:
 * - `ask`: no browser has the consent yet; a person is asked to go on.
 * - `go_on`: this browser has it, and goes to the service.
 * - `closed`: it does not go on.
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
  // Whoever did not begin it is led nowhere.
  const returnUrl = end.kind === 'other_browser' ? null : flow.returnUrl;
  return { end, returnUrl, accountId: flow.accountId, reference: flow.reference };
}

/** In constant time. A flow that no browser has gone on with is nobody's. */
function isItsBrowser(flow: Flow, secretOf: SecretOf): boolean {
  const secret = secretOf(flow.id);
  return flow.browser !== null && secret !== null && equalSecrets(digest(secret), flow.browser);
}

/**
 * Begins consents and finishes them. Any process can finish what another one has begun.
 *
 * A consent belongs to one browser. The CRM's customer gets a start address of the connector; a browser that goes on
 * from there gets a cookie, and only with that cookie is a code redeemed. So whoever forwards the address of the service
 * that his own browser was sent to gets nobody's numbers.
 */
export interface Consents {
  /** Whether a consent may lead its customer on to this address, see `isNamedHost`. */
  mayReturnTo(returnUrl: string): boolean;
  /** Throws a `ServiceError` when the authorization server cannot be found, or what the database throws. */
  begin(request: StartGrantRequest): Promise<StartedConsent>;
  /** Looks where a start token leads, and changes nothing. Throws what the database throws. */
  open(token: string, secretOf: SecretOf): Promise<OpenedConsent>;
  /**
   * Gives the consent to the browser for good, if it has a cookie and no other browser has the consent. The same
   * browser may come again. Throws what the database throws.
   */
  goOn(token: string, secretOf: SecretOf): Promise<OpenedConsent>;
  /** Takes what the customer's browser brought back. Throws what the database throws. */
  finish(returned: URLSearchParams, secretOf: SecretOf): Promise<FinishedConsent>;
}

/** The authorization code flow with PKCE S256, a `state` that is used once, and a check of `iss`. */
export function createConsents(options: ConsentsOptions): Consents {
  const { database, keyRing, clock, logger, server, app } = options;

  /** The code was redeemed; what it brought is kept, or given back. */
  async function keep(flow: Flow, issued: IssuedTokens): Promise<ConsentEnd> {
    const { objection, numbers } = await lookAtGrant(options, flow.accountId, issued);
    if (objection !== null) {
      if (issued.refreshToken !== null) await options.revoke(issued.refreshToken);
      return await fail(flow, objection);
    }
    const stored = await storeGrant(options, flow, issued, clock.now()).catch(async (error: unknown) => {
      if (issued.refreshToken !== null) await options.revoke(issued.refreshToken);
      throw error;
    });
    if (stored === null) {
      if (issued.refreshToken !== null) await options.revoke(issued.refreshToken);
      return await fail(flow, 'account_removed');
    }
    const { accountId, replaced } = stored;
    logger.info({ accountId }, 'a customer has consented');
    await options.onGranted(accountId, flow.accountId !== null).catch((err: unknown) => {
      logger.warn({ err, accountId }, 'a grant is kept, and is taken up later');
    });
    if (replaced !== null) await options.revoke(replaced);
    return { kind: 'connected', accountId, again: false, numbers };
  }

  async function fail(flow: Flow, code: string): Promise<ConsentEnd> {
    logger.warn({ errorCode: code }, 'a consent has brought no grant');
    await noteFailure(database, flow.id, code);
    return { kind: 'failed', code };
  }

  /** How a flow stands that cannot be taken, to the browser that has it. */
  async function explain({ outcome, accountId, usedAt }: Flow): Promise<ConsentEnd> {
    if (outcome === 'connected' && accountId !== null) {
      return { kind: 'connected', accountId, again: true, numbers: await readNumbers(database, accountId) };
    }
    return { kind: usedAt === null ? 'expired' : 'used' };
  }

  /** Redeems the code of a flow that this callback has taken. */
  async function redeem(flow: Flow, returned: URLSearchParams, state: string): Promise<ConsentEnd> {
    const codeVerifier = await keyRing.open(flow.sealedVerifier, verifierContext(flow.id));
    let issued: IssuedTokens;
    try {
      issued = await server.redeem(returned, { state, codeVerifier });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return await fail(flow, error instanceof OauthRefusal ? error.error : error.code);
    }
    return await keep(flow, issued);
  }

  function isOver({ usedAt, expiresAt }: Flow): boolean {
    return usedAt === null && expiresAt <= clock.now();
  }

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
    mayReturnTo: (returnUrl) => isNamedHost(returnUrl, { own: app.publicUrl, others: app.returnHosts }),
    async begin({ accountId, label, reference, scopes, connectionIds, returnUrl }) {
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
        FORGET_AFTER_MS,
      );
      return { authorizationUrl: startUrl(app, startToken), expiresAt };
    },
    open,
    async goOn(token, secretOf) {
      const opened = await open(token, secretOf);
      const secret = opened.kind === 'ask' ? secretOf(opened.flow.id) : null;
      if (opened.kind !== 'ask' || secret === null) return opened;
      await bindFlow(database, opened.flow.id, digest(secret), clock.now());
      // Another browser may have been quicker.
      return await open(token, secretOf);
    },
    async finish(returned, secretOf) {
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
