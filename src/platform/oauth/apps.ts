import { and, desc, eq, lt } from 'drizzle-orm';
import type { Scope } from '../../contract/service/scopes.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { workspaces } from '../db/core-tables.ts';
import { oauthApps } from '../db/oauth-tables.ts';
import { isIdentifier, newIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import { hashSecret, newSecret } from '../kernel/secrets.ts';
import type { ChangeState } from '../time/state-change.ts';
import type { WebhookConfiguration } from '../webhooks/configuration.ts';
import { isRedirectUri } from './redirect-uri.ts';

export interface AppRegistration {
  readonly name: string;
  readonly redirectUris: readonly string[];
  readonly scopes: readonly Scope[];
  /** The webhook for the events of its grants. */
  readonly webhookUrl?: string;
  /** The workspace of its developer. */
  readonly ownerWorkspaceId?: string;
  /** As if created before the cut-over: a workspace's first consent covers only `message.received`. */
  readonly legacySubscription?: boolean;
}

/** What the developer portal does with OAuth apps. */
export interface OauthApps {
  /**
   * Registers an app. Client secret and webhook secret are returned only here; the client secret is stored as a hash.
   * Throws `not_found` for an unknown owner, `invalid_request` for a redirect URI that is not allowed, and
   * `invalid_webhook`.
   */
  create(
    app: AppRegistration,
  ): Promise<{ clientId: string; clientSecret: string; webhookSecret: string | null }>;
  /**
   * Sets the webhook of an app and issues a new secret, which is returned only here. Throws `not_found`,
   * `invalid_webhook`.
   */
  setWebhook(clientId: string, url: string): Promise<{ webhookUrl: string; webhookSecret: string }>;
  /** Enables or disables an app. A disabled app gets no tokens, and its existing tokens are refused. */
  setEnabled(clientId: string, enabled: boolean): Promise<void>;
  /** Newest first; `before` is a position. */
  list(options: { readonly limit: number; readonly before?: number }): Promise<App[]>;
}

const { id, name, secretHash, redirectUris, scopes, ownerWorkspaceId } = oauthApps;
const { legacySubscription, enabled, position, createdAt } = oauthApps;
const COLUMNS = {
  ...{ id, name, secretHash, redirectUris, scopes, ownerWorkspaceId },
  ...{ legacySubscription, position, createdAt },
};

/** A registered app. Its id is its `client_id`. */
export type App = Readonly<Pick<typeof oauthApps.$inferSelect, keyof typeof COLUMNS>>;

/** An enabled app; null if there is none with this id. */
export async function findApp(db: Queryable, clientId: string): Promise<App | null> {
  if (!isIdentifier(clientId)) return null;
  const [app] = await orm(db)
    .select(COLUMNS)
    .from(oauthApps)
    .where(and(eq(id, clientId), enabled));
  return app ?? null;
}

async function checkRegistration(db: Queryable, app: AppRegistration) {
  if (!app.redirectUris.every(isRedirectUri)) {
    throw new PlatformError('invalid_request', {
      field: 'redirectUris',
      hint: 'must be HTTPS, HTTP on a loopback address or a private-use scheme, without a fragment',
    });
  }
  const { ownerWorkspaceId: owner } = app;
  if (owner === undefined) return;
  if ((await orm(db).$count(workspaces, eq(workspaces.id, owner))) === 0) {
    throw new PlatformError('not_found');
  }
}

export function createOauthApps(
  database: Queryable,
  changeState: ChangeState,
  webhooks: WebhookConfiguration,
): OauthApps {
  return {
    async create(app) {
      await checkRegistration(database, app);
      const clientId = newIdentifier();
      const clientSecret = newSecret('client');
      const { webhookUrl } = app;
      // [events.oauth.url]
      const webhook = webhookUrl === undefined ? null : await webhooks.put(clientId, webhookUrl);
      await changeState(({ tx, now }) =>
        orm(tx)
          .insert(oauthApps)
          .values({
            id: clientId,
            name: app.name,
            secretHash: hashSecret(clientSecret),
            redirectUris: app.redirectUris,
            scopes: [...new Set(app.scopes)],
            ownerWorkspaceId: app.ownerWorkspaceId,
            legacySubscription: app.legacySubscription ?? false,
            enabled: true,
            createdAt: now,
          }),
      );
      return { clientId, clientSecret, webhookSecret: webhook?.secret ?? null };
    },

    async setWebhook(clientId, url) {
      const isKnown = isIdentifier(clientId) && (await orm(database).$count(oauthApps, eq(id, clientId))) > 0;
      if (!isKnown) throw new PlatformError('not_found');
      const { secret } = await webhooks.put(clientId, url);
      return { webhookUrl: url, webhookSecret: secret };
    },

    setEnabled: (clientId, isEnabled) =>
      changeState(async ({ tx }) => {
        const rows = await orm(tx)
          .update(oauthApps)
          .set({ enabled: isEnabled })
          .where(eq(id, clientId))
          .returning({ id });
        if (rows.length === 0) throw new PlatformError('not_found');
      }),

    list: async ({ limit, before }) =>
      await orm(database)
        .select(COLUMNS)
        .from(oauthApps)
        .where(before === undefined ? undefined : lt(position, before))
        .orderBy(desc(position))
        .limit(limit),
  };
}
