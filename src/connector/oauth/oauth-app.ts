import { createHash } from 'node:crypto';

/** The OAuth app that the connector is, as it was registered with the service. */
export interface OauthApp {
  /** `{auth_url}`: the issuer, where discovery begins. */
  readonly authUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Signing secret of the app's webhook, from where the app is registered. Absent: no webhook of it is taken. */
  readonly webhookSecret?: string | undefined;
  /** Public address of the connector; the redirect URI lies below it. */
  readonly publicUrl: string;
  /** Hosts to which a `returnUrl` may lead beside that of the public address. */
  readonly returnHosts?: readonly string[] | undefined;
  /** `{base_url}` of the service that its tokens are for. */
  readonly baseUrl: string;
}

/** Path of the callback below the public address of the connector. */
export const CALLBACK_PATH = '/oauth/callback';
/** Path below which consents are started. */
export const START_PATH = '/oauth/start';

/** The redirect URI that the app is registered with. */
export function callbackUrl({ publicUrl }: Pick<OauthApp, 'publicUrl'>): string {
  return `${publicUrl.replace(/\/+$/, '')}${CALLBACK_PATH}`;
}

/** Where the customer's browser begins a consent. */
export function startUrl({ publicUrl }: Pick<OauthApp, 'publicUrl'>, token: string): string {
  return `${publicUrl.replace(/\/+$/, '')}${START_PATH}/${token}`;
}

/**
 * The subscription that all grants of the app share: an app has one webhook address. The id follows from the app,
 * so that all processes agree on it and the address can be known before anybody has consented.
 */
export function appSubscriptionId({ authUrl, clientId }: Pick<OauthApp, 'authUrl' | 'clientId'>): string {
  const app = `${authUrl.replace(/\/+$/, '')}\n${clientId}`;
  return `app-${createHash('sha256').update(app, 'utf8').digest('hex').slice(0, 24)}`;
}
