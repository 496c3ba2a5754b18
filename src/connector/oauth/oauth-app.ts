import { createHash } from 'node:crypto';

/** The OAuth app of this connector, as registered with the service. */
export interface OauthApp {
  /** `{auth_url}`: the issuer, where discovery starts. */
  readonly authUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /**
   * Signing secret of the app's webhook, from where the app is registered. If absent, its deliveries are
   * refused.
   */
  readonly webhookSecret?: string | undefined;
  /** Public address of the connector; the redirect URI is below it. */
  readonly publicUrl: string;
  /** Hosts to which a `returnUrl` may lead, besides that of the public address. */
  readonly returnHosts?: readonly string[] | undefined;
  /** `{base_url}` of the service that accepts the tokens. */
  readonly baseUrl: string;
}

/** Path of the callback below the public address of the connector. */
export const CALLBACK_PATH = '/oauth/callback';
/** Path below which consents start. */
export const START_PATH = '/oauth/start';

/** The redirect URI that the app is registered with. */
export function callbackUrl({ publicUrl }: Pick<OauthApp, 'publicUrl'>): string {
  return `${publicUrl.replace(/\/+$/, '')}${CALLBACK_PATH}`;
}

/** Where the customer's browser starts a consent. */
export function startUrl({ publicUrl }: Pick<OauthApp, 'publicUrl'>, token: string): string {
  return `${publicUrl.replace(/\/+$/, '')}${START_PATH}/${token}`;
}

/**
 * The subscription that all grants of the app share, because an app has one webhook address. The id is derived
 * from the app, so that all processes use the same and the address is known before any consent.
 */
export function appSubscriptionId({ authUrl, clientId }: Pick<OauthApp, 'authUrl' | 'clientId'>): string {
  const app = `${authUrl.replace(/\/+$/, '')}\n${clientId}`;
  return `app-${createHash('sha256').update(app, 'utf8').digest('hex').slice(0, 24)}`;
}
