import type { Grant, OauthApp } from '../../contract/sandbox/access.ts';
import { givenFields } from '../../contract/schema/given-fields.ts';
import type { App } from '../../platform/oauth/apps.ts';
import type { RefusedApproval } from '../../platform/oauth/consent/portal-approvals.ts';
import type { GrantRecord } from '../../platform/oauth/grants.ts';
import type { Platform } from '../../platform/platform.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import { pageOf, readCursor } from '../control/page-cursor.ts';
import { SandboxError } from '../control/sandbox-error.ts';
import type { Handlers } from '../control/serve-endpoint.ts';

const isoOrNull = (at: number | null): string | null => (at === null ? null : toIso(at));

/** How much to read for a page, and from where: one entry more than is shown. */
function window(query: { readonly limit: number; readonly cursor?: string | undefined }) {
  const before = query.cursor === undefined ? undefined : readCursor(query.cursor);
  return { limit: query.limit + 1, ...givenFields({ before }) };
}

/** Refresh tokens that are shown of each grant. */
const MAX_TOKENS = 20;

function presentGrant(grant: GrantRecord): Grant {
  return {
    id: grant.id,
    clientId: grant.appId,
    workspaceId: grant.workspaceId,
    scopes: [...grant.scopes],
    connectionIds: [...grant.connectionIds],
    createdAt: toIso(grant.createdAt),
    revokedAt: isoOrNull(grant.revokedAt),
    refreshes: grant.refreshes,
    expiresAt: isoOrNull(grant.expiresAt),
  };
}

const REFUSED: Readonly<Record<Exclude<RefusedApproval, 'unknown_code'>, string>> = {
  no_portal: 'The workspace is not a CRM portal; its owner approves on the page.',
  no_request: 'No consent is waiting for a portal. Open the authorize URL first.',
  several_requests:
    'Several consents are waiting. Specify the code that one of the pages shows as `userCode`.',
};

function refuseApproval(why: RefusedApproval): never {
  if (why === 'unknown_code') throw new SandboxError('not_found', 'Unknown or expired user code.');
  throw new SandboxError('wrong_state', REFUSED[why]);
}

/** OAuth apps, and what people consented to. */
export function oauthEndpoints({ oauth, webhooks }: Pick<Platform, 'oauth' | 'webhooks'>) {
  const { apps, grants, approvals } = oauth;
  const presentApp = (app: App): OauthApp => ({
    clientId: app.id,
    name: app.name,
    redirectUris: [...app.redirectUris],
    scopes: [...app.scopes],
    webhookUrl: webhooks.get(app.id).url,
    ownerWorkspaceId: app.ownerWorkspaceId,
    legacySubscription: app.legacySubscription,
    createdAt: toIso(app.createdAt),
  });

  return {
    createOauthApp: ({ body }) => apps.create(givenFields(body)),

    setAppWebhook: ({ param, body }) => apps.setWebhook(param('id'), body.url),

    async createUserCode({ param, body }) {
      const result = await approvals.approve(param('id'), body?.userCode);
      return typeof result === 'string' ? refuseApproval(result) : result;
    },

    async listOauthApps({ query }) {
      const found = await apps.list(window(query));
      return pageOf(found, query.limit, presentApp, ({ position }) => position);
    },

    async listGrants({ query }) {
      const found = await grants.list(window(query));
      const families = await grants.families(found.map(({ id }) => id));
      const present = (grant: GrantRecord) => ({
        ...presentGrant(grant),
        refreshTokens: (families.get(grant.id) ?? [])
          .slice(0, MAX_TOKENS)
          .map(({ expiresAt, usedAt }) => ({ expiresAt: toIso(expiresAt), usedAt: isoOrNull(usedAt) })),
      });
      return pageOf(found, query.limit, present, ({ position }) => position);
    },

    async narrowGrant({ param, body }) {
      return presentGrant(await grants.narrow(param('id'), givenFields(body)));
    },

    async revokeGrant({ param }) {
      await grants.revoke(param('id'));
      return { ok: true as const };
    },
  } satisfies Handlers;
}
