import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { storeConfiguredSecret } from '../accounts/configured-secret.ts';
import { webhookUrl } from '../accounts/registrations.ts';
import { addSubscription } from '../accounts/subscription-store.ts';
import type { Audit } from '../audit/audit.ts';
import { appSubscriptionId, type OauthApp } from './oauth-app.ts';

export interface AppSubscriptionOptions {
  readonly database: Database;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly audit?: Audit | undefined;
  /** Public address of the receiver; undefined if it is below that of the connector. */
  readonly publicUrl: string | undefined;
}

/** The address to enter for events where the app is registered. */
function appWebhookUrl(app: OauthApp, publicUrl: string | undefined): string {
  const base = publicUrl ?? `${app.publicUrl.replace(/\/+$/, '')}/webhooks/messaging`;
  return webhookUrl(base, appSubscriptionId(app));
}

/**
 * Stores the subscription of the app, with its secret if the settings contain one, and logs the address to
 * enter in the registration of the app. This is done at start, before any consent. Without a secret, the path
 * refuses every delivery, and polling finds everything. Throws a `SealingError`, or what the database throws.
 */
export async function ensureAppSubscription(options: AppSubscriptionOptions, app: OauthApp): Promise<void> {
  const { database, keyRing, clock, logger, publicUrl, audit } = options;
  const { webhookSecret: secret } = app;
  const subscriptionId = appSubscriptionId(app);
  await addSubscription(database, { id: subscriptionId });
  const url = appWebhookUrl(app, publicUrl);
  if (secret === undefined) {
    logger.info(
      { subscriptionId, url },
      'webhook address of the OAuth app; SERVICE_CLIENT_WEBHOOK_SECRET is not set, so only polling finds its events',
    );
    return;
  }
  const changed = await storeConfiguredSecret({
    database,
    keyRing,
    subscriptionId,
    secret,
    now: clock.now(),
  });
  const what = 'SERVICE_CLIENT_WEBHOOK_SECRET';
  if (changed) audit?.note('account.changed', { who: 'settings', what, id: subscriptionId, result: 'ok' });
  logger.info({ subscriptionId, url }, 'webhook address of the OAuth app');
}
