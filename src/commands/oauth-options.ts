import type { OauthApp } from '../connector/oauth/oauth-app.ts';
import type { ConfigurationProblem } from '../runtime/config/configuration-error.ts';
import type { ConnectorSettings } from './settings.ts';

const NAMES = [
  'SERVICE_AUTH_URL',
  'SERVICE_CLIENT_ID',
  'SERVICE_CLIENT_SECRET',
  'CONNECTOR_PUBLIC_URL',
] as const satisfies readonly (keyof ConnectorSettings)[];

/** Reads the OAuth app from the settings; undefined if none is configured. Each problem names its setting. */
export function readOauthApp(settings: ConnectorSettings): {
  readonly app: OauthApp | undefined;
  readonly problems: readonly ConfigurationProblem[];
} {
  const given = NAMES.filter((name) => settings[name] !== undefined);
  const { SERVICE_CLIENT_WEBHOOK_SECRET: webhookSecret } = settings;
  if (given.length === 0) {
    if (webhookSecret === undefined) return { app: undefined, problems: [] };
    const problem = `is the secret of an OAuth app's webhook, but no app is configured; set ${NAMES.join(', ')} and SERVICE_BASE_URL, or remove it.`;
    return { app: undefined, problems: [{ setting: 'SERVICE_CLIENT_WEBHOOK_SECRET', problem }] };
  }
  const problems: ConfigurationProblem[] = [];
  const missing: readonly (keyof ConnectorSettings)[] = [...NAMES, 'SERVICE_BASE_URL'];
  for (const setting of missing.filter((name) => settings[name] === undefined)) {
    const problem = `is not set, but ${given.join(' and ')} ${given.length === 1 ? 'is' : 'are'} set; an OAuth app needs ${NAMES.join(', ')} and SERVICE_BASE_URL.`;
    problems.push({ setting, problem });
  }
  const {
    SERVICE_BASE_URL: baseUrl,
    SERVICE_AUTH_URL: authUrl,
    SERVICE_CLIENT_ID: clientId,
    SERVICE_CLIENT_SECRET: clientSecret,
    CONNECTOR_PUBLIC_URL: publicUrl,
  } = settings;
  const isWhole =
    baseUrl !== undefined && authUrl !== undefined && clientId !== undefined && publicUrl !== undefined;
  if (!isWhole || clientSecret === undefined || problems.length > 0) return { app: undefined, problems };
  const secrets = { clientSecret: clientSecret.reveal(), webhookSecret: webhookSecret?.reveal() };
  const returnHosts = settings.CONNECTOR_RETURN_HOSTS ?? [];
  return { app: { baseUrl, authUrl, clientId, publicUrl, returnHosts, ...secrets }, problems };
}
