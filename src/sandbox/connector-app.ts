import { z } from 'zod';
import { SCOPES } from '../contract/service/scopes.ts';
import { addLastingNumber, type SandboxStore } from './lasting-numbers.ts';
import { storeValue } from './state-store.ts';

/** The OAuth app of the attached connector. Its secret is stored, because the service shows it only once. */
const registeredApp = z.object({ clientId: z.string(), clientSecret: z.string(), redirectUri: z.string() });

/** The addresses of the connector's app. */
export interface ConnectorAppAddresses {
  readonly redirectUri: string;
  /** The webhook URL, which the connector derives from the client id. */
  readonly webhookUrl: (clientId: string) => string;
}

/** Only the newest apps are searched. */
const NEWEST = 100;

/**
 * Finds the connector's OAuth app of an earlier start, or registers one. Its webhook is set each time, which issues a
 * new secret, so the secret is not stored.
 */
export async function ensureConnectorApp(
  options: SandboxStore,
  { redirectUri, webhookUrl }: ConnectorAppAddresses,
) {
  const app = await findOrRegister(options, redirectUri);
  const { webhookSecret } = await options.platform.oauth.apps.setWebhook(
    app.clientId,
    webhookUrl(app.clientId),
  );
  return { ...app, webhookSecret };
}

/**
 * The app's developer owns a workspace with a number that no API key of the seed reaches, so that consent is automatic
 * and the grant contains its own connection.
 */
async function findOrRegister({ platform, database }: SandboxStore, redirectUri: string) {
  const stored = storeValue(database, 'connector_app', registeredApp);
  const known = await stored.load();
  const registered = await platform.oauth.apps.list({ limit: NEWEST });
  const app = registered.find(({ id }) => id === known?.clientId);
  if (known !== null && app !== undefined && known.redirectUri === redirectUri) return known;
  const { id: ownerWorkspaceId } = await platform.workspaces.create({ kind: 'standalone' });
  await addLastingNumber(platform, ownerWorkspaceId, {
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
  const made = { clientId, clientSecret, redirectUri };
  await stored.save(made);
  return made;
}
