import { timingSafeEqual } from 'node:crypto';
import { and, eq, gt, isNull } from 'drizzle-orm';
import type { Queryable } from '../../../runtime/database/database.ts';
import { orm } from '../../../runtime/database/orm.ts';
import { oauthConsents } from '../../db/oauth-tables.ts';
import { ASSUMPTIONS } from '../../kernel/assumptions.ts';
import { isIdentifier, newIdentifier } from '../../kernel/identifiers.ts';
import { hashSecret, newSecret } from '../../kernel/secrets.ts';
import type { ChangeState, StateChange } from '../../time/state-change.ts';
import type { AuthorizationRequest } from '../authorize/read-request.ts';
import { newUserCode } from './user-code.ts';

/** An open consent, with the data of its page. */
export interface OpenConsent {
  readonly id: string;
  readonly request: AuthorizationRequest;
  /** The code that a portal admin enters; null: no portal is asked. */
  readonly userCode: string | null;
  /** The portal whose admin has approved; null: none yet. */
  readonly portalWorkspaceId: string | null;
}

const isOpen = (id: string) => and(eq(oauthConsents.id, id), isNull(oauthConsents.closedAt));

/**
 * Opens a consent for some minutes and returns the secret that binds it to a browser. `withCode`: a portal admin may
 * approve it.
 */
export async function openConsent(
  changeState: ChangeState,
  request: AuthorizationRequest,
  withCode: boolean,
): Promise<{ consent: OpenConsent; browser: string }> {
  const id = newIdentifier();
  const userCode = withCode ? newUserCode() : null;
  const browser = newSecret('browser');
  await changeState(async ({ tx, now }) => {
    await orm(tx)
      .insert(oauthConsents)
      .values({
        id,
        appId: request.appId,
        browserHash: hashSecret(browser),
        request: JSON.stringify(request),
        userCode,
        expiresAt: now + ASSUMPTIONS.oauthConsentLifetimeMs.value,
      });
  });
  return { consent: { id, request, userCode, portalWorkspaceId: null }, browser };
}

/** The open consent of a browser; null if it is unknown, has ended, or belongs to another browser. */
export async function findConsent(
  db: Queryable,
  { id, browser }: { readonly id: string | null; readonly browser: string | null },
  now: number,
): Promise<OpenConsent | null> {
  if (!isIdentifier(id) || browser === null) return null;
  const [row] = await orm(db)
    .select()
    .from(oauthConsents)
    .where(and(isOpen(id), gt(oauthConsents.expiresAt, now)));
  if (row === undefined || !timingSafeEqual(row.browserHash, hashSecret(browser))) return null;
  const { userCode, portalWorkspaceId } = row;
  return { id, request: JSON.parse(row.request), userCode, portalWorkspaceId };
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
