import type { Queryable } from '../../../runtime/database/database.ts';
import { ASSUMPTIONS } from '../../kernel/assumptions.ts';
import { PlatformError } from '../../kernel/platform-error.ts';
import type { ChangeState, StateChange } from '../../time/state-change.ts';
import { lockWorkspace } from '../../workspaces/workspaces.ts';
import { hashOauthSecret } from '../oauth-secrets.ts';
import { normalizeUserCode, userCodeOf } from './user-code.ts';

/** Why an approval was not taken. */
export type RefusedApproval = 'no_portal' | 'no_request' | 'several_requests' | 'unknown_code';

/** The CRM portal's hand on consents. [oauth.consent.portal] [choice.oauth.user-code] */
export interface PortalApprovals {
  /**
   * The admin of a portal enters the code that a page shows; without one, approves the only page that waits.
   * A code is good once. Throws `not_found` for an unknown workspace, `rate_limited` after too many wrong codes.
   */
  approve(workspaceId: string, typed?: string): Promise<{ userCode: string } | RefusedApproval>;
}

const { tries, triesWithinMs } = ASSUMPTIONS.oauthUserCode.value;

async function readTries(tx: Queryable, workspaceId: string, since: number): Promise<number[]> {
  const [row] = await tx.query<{ failed_at: number[] }>(
    'SELECT failed_at FROM platform.oauth_code_tries WHERE workspace_id = $1',
    [workspaceId],
  );
  return (row?.failed_at ?? []).filter((at) => at > since);
}

async function storeTries(tx: Queryable, workspaceId: string, failedAt: readonly number[]): Promise<void> {
  await tx.query(
    `INSERT INTO platform.oauth_code_tries (workspace_id, failed_at) VALUES ($1, $2)
     ON CONFLICT (workspace_id) DO UPDATE SET failed_at = excluded.failed_at`,
    [workspaceId, failedAt],
  );
}

/** The ids of pages that wait, for a code or for any. */
async function findWaiting({ tx, now }: StateChange, code: string | undefined): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `SELECT id FROM platform.oauth_consents
     WHERE closed_at IS NULL AND portal_workspace_id IS NULL AND user_code_hash IS NOT NULL AND expires_at > $1
       AND ($2::bytea IS NULL OR user_code_hash = $2) LIMIT 2`,
    [now, code === undefined ? null : hashOauthSecret(code)],
  );
  return rows.map(({ id }) => id);
}

async function refuseWhenTired({ tx, now }: StateChange, workspaceId: string): Promise<number[]> {
  const failed = await readTries(tx, workspaceId, now - triesWithinMs);
  const [oldest = now] = failed;
  if (failed.length < tries) return failed;
  const retryAfterSeconds = Math.ceil((oldest + triesWithinMs - now) / 1_000);
  throw new PlatformError('rate_limited', { retryAfterSeconds });
}

export function createPortalApprovals(changeState: ChangeState, key: Uint8Array): PortalApprovals {
  return {
    approve: (workspaceId, typed) =>
      changeState(async (change) => {
        // Its lock makes wrong codes count one by one.
        const { kind } = await lockWorkspace(change.tx, workspaceId);
        if (kind !== 'crm_portal') return 'no_portal';
        const failed = await refuseWhenTired(change, workspaceId);
        const code = typed === undefined ? undefined : normalizeUserCode(typed);
        const [id, second] = await findWaiting(change, code);
        if (id === undefined) {
          if (code === undefined) return 'no_request';
          await storeTries(change.tx, workspaceId, [...failed, change.now]);
          return 'unknown_code';
        }
        if (second !== undefined) return 'several_requests';
        // Two portals may enter it at once: one has it.
        const taken = await change.tx.query(
          `UPDATE platform.oauth_consents SET portal_workspace_id = $2
           WHERE id = $1 AND portal_workspace_id IS NULL AND closed_at IS NULL RETURNING id`,
          [id, workspaceId],
        );
        return taken.length === 0 ? 'unknown_code' : { userCode: userCodeOf(key, id) };
      }),
  };
}
