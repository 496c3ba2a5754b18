import { z } from 'zod';
import { SCOPES } from '../contract/service/scopes.ts';
import type { Platform } from '../platform/platform.ts';
import type { Queryable } from '../runtime/database/database.ts';
import { storeValue } from './state-store.ts';

/** The OAuth app of a connector that runs beside the sandbox. The secret is kept: it is shown only once. */
const connectorApp = z.object({ clientId: z.string(), clientSecret: z.string(), redirectUri: z.string() });
export type ConnectorApp = z.infer<typeof connectorApp>;

/** Apps are few here; the newest are looked through. */
const NEWEST = 100;

/**
 * Finds the connector's OAuth app of an earlier start, or registers one. Its developer owns a workspace with a number
 * that no API key of the seed reaches, so that a consent is given at once and the grant has something to show.
 */
export async function ensureConnectorApp(
  { platform, database }: { readonly platform: Platform; readonly database: Queryable },
  redirectUri: string,
): Promise<ConnectorApp> {
  const stored = storeValue(database, 'connector_app', connectorApp);
  const known = await stored.load();
  const registered = await platform.oauth.apps.list({ limit: NEWEST });
  const stands = registered.some(({ id }) => id === known?.clientId);
  if (known !== null && stands && known.redirectUri === redirectUri) return known;
  const { id: ownerWorkspaceId } = await platform.workspaces.create({ kind: 'standalone' });
  await platform.connections.createPaired(ownerWorkspaceId, {
    provider: 'qr',
    phoneNumber: '447700900111',
    label: 'Bakery',
  });
  const { clientId, clientSecret } = await platform.oauth.apps.create({
    name: 'Local connector',
    redirectUris: [redirectUri],
    scopes: [...SCOPES],
    ownerWorkspaceId,
  });
  const app = { clientId, clientSecret, redirectUri };
  await stored.save(app);
  return app;
}
