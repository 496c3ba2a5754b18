import { timingSafeEqual } from 'node:crypto';
import type { Queryable } from '../../../runtime/database/database.ts';
import { ASSUMPTIONS } from '../../assumptions.ts';
import { isIdentifier, newIdentifier } from '../../identifiers.ts';
import type { ChangeState, StateChange } from '../../state-change.ts';
import type { AuthorizationRequest } from '../authorize/read-request.ts';
import { hashOauthSecret, newOauthSecret } from '../oauth-secrets.ts';
import { userCodeOf } from './user-code.ts';

/** What ties a page to the browser that it was shown in: a cookie, and a field of its forms. */
export interface PageSecrets {
  readonly browser: string;
  readonly form: string;
}

/** A request that is open, with what its page needs. */
export interface OpenConsent {
  readonly id: string;
  readonly request: AuthorizationRequest;
  /** What the portal admin enters; null: no portal is asked. */
  readonly userCode: string | null;
  /** The portal whose admin has approved; null: none yet. */
  readonly portalWorkspaceId: string | null;
}

interface Row {
  request: string;
  browser_hash: Uint8Array;
  form_hash: Uint8Array;
  has_code: boolean;
  portal_workspace_id: string | null;
}

function matches(hash: Uint8Array, secret: string | null): boolean {
  return secret !== null && timingSafeEqual(hash, hashOauthSecret(secret));
}

/** Opens a consent for some minutes. `withCode`: a portal admin may approve it. */
export async function openConsent(
  changeState: ChangeState,
  key: Uint8Array,
  request: AuthorizationRequest,
  withCode: boolean,
): Promise<{ consent: OpenConsent; secrets: PageSecrets }> {
  const id = newIdentifier();
  const userCode = withCode ? userCodeOf(key, id) : null;
  const secrets = { browser: newOauthSecret('browser'), form: newOauthSecret('browser') };
  await changeState(({ tx, now }) =>
    tx.query(
      `INSERT INTO platform.oauth_consents
         (id, app_id, browser_hash, form_hash, request, user_code_hash, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      [
        id,
        request.appId,
        hashOauthSecret(secrets.browser),
        hashOauthSecret(secrets.form),
        JSON.stringify(request),
        userCode === null ? null : hashOauthSecret(userCode),
        now + ASSUMPTIONS.oauthConsentLifetimeMs.value,
      ],
    ),
  );
  return { consent: { id, request, userCode, portalWorkspaceId: null }, secrets };
}

/**
 * The open consent of a form. Null when there is none, when it is over, and when the form or the browser is
 * not the one that its page was shown in.
 */
export async function findConsent(
  db: Queryable,
  key: Uint8Array,
  given: { readonly id: string | null; readonly browser: string | null; readonly form: string | null },
  now: number,
): Promise<OpenConsent | null> {
  const { id } = given;
  if (!isIdentifier(id)) return null;
  const [row] = await db.query<Row>(
    `SELECT request, browser_hash, form_hash, user_code_hash IS NOT NULL AS has_code, portal_workspace_id
     FROM platform.oauth_consents WHERE id = $1 AND closed_at IS NULL AND expires_at > $2`,
    [id, now],
  );
  if (row === undefined) return null;
  if (!matches(row.browser_hash, given.browser) || !matches(row.form_hash, given.form)) return null;
  return {
    id,
    request: JSON.parse(row.request),
    userCode: row.has_code ? userCodeOf(key, id) : null,
    portalWorkspaceId: row.portal_workspace_id,
  };
}

/** Closes a consent; false when it was closed before, by a second click say. */
export async function closeConsent({ tx, now }: StateChange, id: string): Promise<boolean> {
  const closed = await tx.query(
    'UPDATE platform.oauth_consents SET closed_at = $2 WHERE id = $1 AND closed_at IS NULL RETURNING id',
    [id, now],
  );
  return closed.length > 0;
}
