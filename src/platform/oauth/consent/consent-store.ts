import { createHmac, timingSafeEqual } from 'node:crypto';
import { and, eq, gt, isNull } from 'drizzle-orm';
import type { Scope } from '../../../contract/service/scopes.ts';
import type { Queryable } from '../../../runtime/database/database.ts';
import { orm } from '../../../runtime/database/orm.ts';
import { oauthConsents } from '../../db/oauth-tables.ts';
import { ASSUMPTIONS } from '../../kernel/assumptions.ts';
import { isIdentifier, newIdentifier } from '../../kernel/identifiers.ts';
import type { ChangeState, StateChange } from '../../time/state-change.ts';
import type { AuthorizationRequest } from '../authorize/read-request.ts';
import { hashOauthSecret, newOauthSecret } from '../oauth-secrets.ts';
import { userCodeOf } from './user-code.ts';

/** The selection on the page of a workspace. */
export interface Ticks {
  readonly connections: readonly string[] | 'all';
  readonly scopes: readonly Scope[];
  /** True if it was submitted as a consent: the page then names what is missing. */
  readonly judged: boolean;
}

/** The content of the last form that did not complete the consent. Pages show it, even when reloaded. */
export type OpenAnswer =
  | { readonly kind: 'ticks'; readonly workspaceId: string; readonly ticks: Ticks }
  /** The user continued before a portal admin had entered the code. */
  | { readonly kind: 'too_early' };

/** An open consent, with the data of its page. */
export interface OpenConsent {
  readonly id: string;
  readonly request: AuthorizationRequest;
  /** The token of its forms. With the cookie, it protects against CSRF. */
  readonly form: string;
  /** The code that a portal admin enters; null: no portal is asked. */
  readonly userCode: string | null;
  /** The portal whose admin has approved; null: none yet. */
  readonly portalWorkspaceId: string | null;
  readonly answer: OpenAnswer | null;
}

const isOpen = (id: string) => and(eq(oauthConsents.id, id), isNull(oauthConsents.closedAt));

/** The token is derived instead of stored, so that a page can be shown again. */
function formOf(key: Uint8Array, consentId: string): string {
  return createHmac('sha256', key).update(`form ${consentId}`).digest('base64url');
}

/** Whether the token of a form belongs to this consent. */
export function isItsForm({ form }: OpenConsent, given: string | null): boolean {
  return given !== null && timingSafeEqual(hashOauthSecret(form), hashOauthSecret(given));
}

/**
 * Opens a consent for some minutes and returns the secret that binds it to a browser. `withCode`: a portal admin may
 * approve it.
 */
export async function openConsent(
  changeState: ChangeState,
  key: Uint8Array,
  request: AuthorizationRequest,
  withCode: boolean,
): Promise<{ consent: OpenConsent; browser: string }> {
  const id = newIdentifier();
  const userCode = withCode ? userCodeOf(key, id) : null;
  const browser = newOauthSecret('browser');
  await changeState(async ({ tx, now }) => {
    await orm(tx)
      .insert(oauthConsents)
      .values({
        id,
        appId: request.appId,
        browserHash: hashOauthSecret(browser),
        request: JSON.stringify(request),
        userCodeHash: userCode === null ? null : hashOauthSecret(userCode),
        expiresAt: now + ASSUMPTIONS.oauthConsentLifetimeMs.value,
      });
  });
  const form = formOf(key, id);
  return { consent: { id, request, form, userCode, portalWorkspaceId: null, answer: null }, browser };
}

/** The open consent of a browser; null if it is unknown, has ended, or belongs to another browser. */
export async function findConsent(
  db: Queryable,
  key: Uint8Array,
  { id, browser }: { readonly id: string | null; readonly browser: string | null },
  now: number,
): Promise<OpenConsent | null> {
  if (!isIdentifier(id) || browser === null) return null;
  const [row] = await orm(db)
    .select()
    .from(oauthConsents)
    .where(and(isOpen(id), gt(oauthConsents.expiresAt, now)));
  if (row === undefined || !timingSafeEqual(row.browserHash, hashOauthSecret(browser))) return null;
  return {
    id,
    request: JSON.parse(row.request),
    form: formOf(key, id),
    userCode: row.userCodeHash === null ? null : userCodeOf(key, id),
    portalWorkspaceId: row.portalWorkspaceId,
    answer: row.answer === null ? null : JSON.parse(row.answer),
  };
}

/** Stores the content of a form that did not complete the consent; null deletes it. */
export async function keepAnswer({ tx }: StateChange, id: string, answer: OpenAnswer | null): Promise<void> {
  const text = answer === null ? null : JSON.stringify(answer);
  await orm(tx).update(oauthConsents).set({ answer: text }).where(isOpen(id));
}

/** Closes a consent; false if it was already closed, for example by a double click. */
export async function closeConsent({ tx, now }: StateChange, id: string): Promise<boolean> {
  const closed = await orm(tx)
    .update(oauthConsents)
    .set({ closedAt: now })
    .where(isOpen(id))
    .returning({ id: oauthConsents.id });
  return closed.length > 0;
}
