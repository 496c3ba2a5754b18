import { and, eq, gt, isNotNull, isNull } from 'drizzle-orm';
import { orm } from '../../../runtime/database/orm.ts';
import { oauthConsents } from '../../db/oauth-tables.ts';
import type { ChangeState, StateChange } from '../../time/state-change.ts';
import { lockWorkspace } from '../../workspaces/workspaces.ts';
import { normalizeUserCode } from './user-code.ts';

/** Why an approval was refused. */
export type RefusedApproval = 'no_portal' | 'no_request' | 'several_requests' | 'unknown_code';

/** Approvals by CRM portals. [oauth.consent.portal] [choice.oauth.user-code] */
export interface PortalApprovals {
  /**
   * Approves the consent whose code the admin of a portal typed; without a code, the only open one. A code can be used
   * once. Throws `not_found` for an unknown workspace.
   */
  approve(workspaceId: string, typed?: string): Promise<{ userCode: string } | RefusedApproval>;
}

const isWaiting = and(isNull(oauthConsents.closedAt), isNull(oauthConsents.portalWorkspaceId));

/** The ids of consents that wait for a portal: those with the code, or all. */
async function findWaiting({ tx, now }: StateChange, code: string | undefined): Promise<string[]> {
  const { id, userCode, expiresAt } = oauthConsents;
  const rows = await orm(tx)
    .select({ id })
    .from(oauthConsents)
    .where(and(isWaiting, gt(expiresAt, now), code === undefined ? isNotNull(userCode) : eq(userCode, code)))
    .limit(2);
  return rows.map((row) => row.id);
}

export function createPortalApprovals(changeState: ChangeState): PortalApprovals {
  return {
    approve: (workspaceId, typed) =>
      changeState(async (change) => {
        const { kind } = await lockWorkspace(change.tx, workspaceId);
        if (kind !== 'crm_portal') return 'no_portal';
        const code = typed === undefined ? undefined : normalizeUserCode(typed);
        const [id, second] = await findWaiting(change, code);
        if (id === undefined) {
          return code === undefined ? 'no_request' : 'unknown_code';
        }
        if (second !== undefined) return 'several_requests';
        // If two portals enter it at the same time, one succeeds.
        const taken = await orm(change.tx)
          .update(oauthConsents)
          .set({ portalWorkspaceId: workspaceId })
          .where(and(eq(oauthConsents.id, id), isWaiting))
          .returning({ userCode: oauthConsents.userCode });
        return taken[0]?.userCode == null ? 'unknown_code' : { userCode: taken[0].userCode };
      }),
  };
}
