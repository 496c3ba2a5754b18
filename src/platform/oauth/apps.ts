import type { Scope } from '../../contract/service/scopes.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { isIdentifier, newIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { ChangeState } from '../time/state-change.ts';
import type { WebhookConfiguration } from '../webhooks/configuration.ts';
import { hashOauthSecret, newOauthSecret } from './oauth-secrets.ts';
import { isRedirectUri } from './redirect-uri.ts';

/** What an app is registered with. */
export interface AppRegistration {
  readonly name: string;
  readonly redirectUris: readonly string[];
  readonly scopes: readonly Scope[];
  /** Where the events of its grants go. */
  readonly webhookUrl?: string;
  /** The workspace of its developer. */
  readonly ownerWorkspaceId?: string;
  /** As made before the cut-over: a workspace's first consent covers `message.received` alone. */
  readonly legacySubscription?: boolean;
}

/** An app as it is known to the authorization server. */
export interface App {
  /** Its `client_id`. */
  readonly id: string;
  readonly name: string;
  readonly secretHash: Uint8Array;
  readonly redirectUris: readonly string[];
  readonly scopes: readonly Scope[];
  readonly ownerWorkspaceId: string | null;
  readonly legacySubscription: boolean;
  readonly position: number;
  readonly createdAt: number;
}

/** The developer portal's hand on OAuth apps. */
export interface OauthApps {
  /**
   * Registers an app. Client secret and webhook secret are answered once; of the first only a hash is stored.
   * Throws `not_found` for an unknown owner, `invalid_request` for a redirect address that may not be one,
   * `invalid_webhook`.
   */
  create(
    app: AppRegistration,
  ): Promise<{ clientId: string; clientSecret: string; webhookSecret: string | null }>;
  /**
   * Sets where the events of an app's grants go, as its developer does, and issues a new secret, answered once. Throws
   * `not_found`, `invalid_webhook`.
   */
  setWebhook(clientId: string, url: string): Promise<{ webhookUrl: string; webhookSecret: string }>;
  /** An app that is switched off gets no token, and those it has are good for nothing meanwhile. */
  setEnabled(clientId: string, enabled: boolean): Promise<void>;
  /** Newest first; `before` is a position. */
  list(options: { readonly limit: number; readonly before?: number }): Promise<App[]>;
}

interface Row {
  id: string;
  name: string;
  secret_hash: Uint8Array;
  redirect_uris: string[];
  scopes: Scope[];
  owner_workspace_id: string | null;
  legacy_subscription: boolean;
  position: number;
  created_at: number;
}

const COLUMNS = `id, name, secret_hash, redirect_uris, scopes, owner_workspace_id, legacy_subscription,
  position, created_at`;

function fromRow(row: Row): App {
  return {
    id: row.id,
    name: row.name,
    secretHash: row.secret_hash,
    redirectUris: row.redirect_uris,
    scopes: row.scopes,
    ownerWorkspaceId: row.owner_workspace_id,
    legacySubscription: row.legacy_subscription,
    position: row.position,
    createdAt: row.created_at,
  };
}

/** An app that is not switched off; null when there is none of this id. */
export async function findApp(db: Queryable, id: string): Promise<App | null> {
  if (!isIdentifier(id)) return null;
  const [row] = await db.query<Row>(`SELECT ${COLUMNS} FROM platform.oauth_apps WHERE id = $1 AND enabled`, [
    id,
  ]);
  return row === undefined ? null : fromRow(row);
}

async function checkRegistration(db: Queryable, { redirectUris, ownerWorkspaceId }: AppRegistration) {
  if (!redirectUris.every(isRedirectUri)) {
    throw new PlatformError('invalid_request', {
      field: 'redirectUris',
      hint: 'HTTPS, HTTP on this machine or a private-use scheme; no fragment',
    });
  }
  if (ownerWorkspaceId === undefined) return;
  const found = await db.query('SELECT id FROM platform.workspaces WHERE id = $1', [ownerWorkspaceId]);
  if (found.length === 0) throw new PlatformError('not_found');
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
      const clientSecret = newOauthSecret('client');
      const { webhookUrl } = app;
      // [events.oauth.url]
      const webhook = webhookUrl === undefined ? null : await webhooks.put(clientId, webhookUrl);
      await changeState(({ tx, now }) =>
        tx.query(
          `INSERT INTO platform.oauth_apps
             (id, name, secret_hash, redirect_uris, scopes, owner_workspace_id, legacy_subscription, enabled, created_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, true, $8)`,
          [
            clientId,
            app.name,
            hashOauthSecret(clientSecret),
            app.redirectUris,
            [...new Set(app.scopes)],
            app.ownerWorkspaceId ?? null,
            app.legacySubscription ?? false,
            now,
          ],
        ),
      );
      return { clientId, clientSecret, webhookSecret: webhook?.secret ?? null };
    },

    async setWebhook(clientId, url) {
      const found = isIdentifier(clientId)
        ? await database.query('SELECT id FROM platform.oauth_apps WHERE id = $1', [clientId])
        : [];
      if (found.length === 0) throw new PlatformError('not_found');
      const { secret } = await webhooks.put(clientId, url);
      return { webhookUrl: url, webhookSecret: secret };
    },

    setEnabled: (clientId, enabled) =>
      changeState(async ({ tx }) => {
        const rows = await tx.query(
          'UPDATE platform.oauth_apps SET enabled = $2 WHERE id = $1 RETURNING id',
          [clientId, enabled],
        );
        if (rows.length === 0) throw new PlatformError('not_found');
      }),

    async list({ limit, before }) {
      const rows = await database.query<Row>(
        `SELECT ${COLUMNS} FROM platform.oauth_apps WHERE position < $1::bigint
         ORDER BY position DESC LIMIT $2::integer`,
        [before ?? Number.MAX_SAFE_INTEGER, limit],
      );
      return rows.map(fromRow);
    },
  };
}
