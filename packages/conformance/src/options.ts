import { type CommandOptions, UsageError } from '../../../src/commands/command-line.ts';
import type { Environment } from '../../../src/runtime/config/read-settings.ts';
import { keepsSecrets } from '../../../src/runtime/public-network/keeps-secrets.ts';
import { listOf, REPORT_OPTIONS, textOf } from '../../certify/src/suite/suite-output.ts';
import { type OauthApp, PROFILES, type Profile, type ServiceInputs } from './service/inputs.ts';

/** Name, summary and options of `npm run conformance -- service`. */
export const SERVICE_COMMAND = {
  name: 'conformance service',
  program: 'messaging-conformance',
  summary: 'checks an implementation of the service over its public API.',
  options: {
    'base-url': {
      type: 'string',
      value: 'URL',
      description: 'address of the API, including /api/v1 (default: SERVICE_BASE_URL)',
    },
    'api-key': { type: 'string', value: 'KEY', description: 'API key (default: SERVICE_API_KEY)' },
    profile: {
      type: 'string',
      value: 'NAME',
      description:
        'read-only (default): only reads and rejected requests; full: also creates and deletes about ten connections, and sends to --recipient if given',
    },
    recipient: {
      type: 'string',
      value: 'DIGITS',
      description: 'the only phone number that full may write to',
    },
    connection: { type: 'string', value: 'ID', description: 'send from this connection' },
    'absent-recipient': {
      type: 'string',
      value: 'DIGITS',
      description: 'a number that is not on the network',
    },
    'pairing-phone': {
      type: 'string',
      value: 'DIGITS',
      description: 'the phone number to request pairing codes for',
    },
    'second-api-key': {
      type: 'string',
      value: 'KEY',
      description: 'key of another workspace, to check isolation',
    },
    'narrow-api-key': { type: 'string', value: 'KEY', description: 'key with fewer scopes' },
    'narrow-scopes': {
      type: 'string',
      value: 'LIST',
      description: 'the scopes of that key, separated by commas',
    },
    'barred-api-key': {
      type: 'string',
      value: 'KEY',
      description: 'key whose address allowlist excludes this machine',
    },
    'portal-api-key': { type: 'string', value: 'KEY', description: 'key of a portal-owned workspace' },
    'lapsed-connection': {
      type: 'string',
      value: 'ID',
      description: 'a connection whose license or add-on has lapsed',
    },
    'legacy-base-url': {
      type: 'string',
      value: 'URL',
      description: 'legacy address, to check for identical responses',
    },
    'auth-url': {
      type: 'string',
      value: 'URL',
      description: 'address of OAuth, discovery and the tool server',
    },
    'oauth-client-id': { type: 'string', value: 'ID', description: 'OAuth app to test with' },
    'oauth-client-secret': {
      type: 'string',
      value: 'SECRET',
      description: 'its secret (default: SERVICE_CLIENT_SECRET)',
    },
    'oauth-redirect-uri': { type: 'string', value: 'URL', description: 'a redirect URI of that app' },
    'oauth-refresh-token': {
      type: 'string',
      value: 'TOKEN',
      description:
        'a refresh token of that app, which is used up; without it, full requests a consent that is approved automatically',
    },
    'webhook-url': {
      type: 'string',
      value: 'URL',
      description: 'public HTTPS URL that forwards to --webhook-listen; replaces the webhook',
    },
    'webhook-listen': { type: 'string', value: '[HOST:]PORT', description: 'where to listen for deliveries' },
    'await-reply': {
      type: 'string',
      value: 'SECONDS',
      description: 'wait for the recipient to reply',
    },
    patient: { type: 'boolean', description: 'also run checks that take half a minute' },
    only: {
      type: 'string',
      value: 'LIST',
      description: 'only run checks whose ids start with one of these, separated by commas',
    },
    timeout: { type: 'string', value: 'SECONDS', description: 'timeout of a check in seconds (default 30)' },
    pace: {
      type: 'string',
      value: 'MS',
      description: 'minimum time between two requests in milliseconds (default 50)',
    },
    ...REPORT_OPTIONS,
  },
} as const;

/** The parsed options of the command. */
export interface ConformanceOptions {
  readonly inputs: ServiceInputs;
  readonly listen: { readonly host: string; readonly port: number } | undefined;
  readonly only: readonly string[] | undefined;
  readonly timeoutMs: number;
  readonly paceMs: number;
  readonly json: boolean;
  readonly junit: string | undefined;
  readonly html: string | undefined;
}

/** @throws UsageError for an invalid option; the message contains no key */
export function readConformanceOptions(options: CommandOptions, env: Environment): ConformanceOptions {
  const word = (name: string): string | undefined => textOf(options, name);
  const needed = (name: string, variable: string): string => {
    const value = word(name) ?? env[variable];
    if (value === undefined || value === '')
      throw new UsageError(`--${name} or ${variable} is required. See --help.`);
    return value;
  };
  const profile = word('profile') ?? 'read-only';
  if (!isProfile(profile)) throw new UsageError(`--profile must be ${PROFILES.join(' or ')}.`);
  const awaitReply = word('await-reply');
  const webhookUrl = word('webhook-url');
  const listen = word('webhook-listen');
  if ((webhookUrl === undefined) !== (listen === undefined)) {
    throw new UsageError('--webhook-url and --webhook-listen must be used together.');
  }
  const inputs = {
    secondApiKey: word('second-api-key'),
    narrowApiKey: word('narrow-api-key'),
    narrowScopes: listOf(word('narrow-scopes')),
    barredApiKey: word('barred-api-key'),
    portalApiKey: word('portal-api-key'),
    lapsedConnectionId: word('lapsed-connection'),
    legacyBaseUrl: readUrl('legacy-base-url', word('legacy-base-url'), ['http:', 'https:']),
    connectionId: word('connection'),
    recipient: readDigits('recipient', word('recipient')),
    absentRecipient: readDigits('absent-recipient', word('absent-recipient')),
    pairingPhone: readDigits('pairing-phone', word('pairing-phone')),
    authUrl: readUrl('auth-url', word('auth-url'), ['http:', 'https:']),
    oauthApp: readApp(word, env['SERVICE_CLIENT_SECRET']),
    oauthRefreshToken: word('oauth-refresh-token'),
    webhookUrl: readUrl('webhook-url', webhookUrl, ['https:']),
    patient: options['patient'] === true,
    awaitReplyMs: awaitReply === undefined ? undefined : 1000 * readNumber('await-reply', awaitReply),
  };
  const baseUrl = readUrl('base-url', needed('base-url', 'SERVICE_BASE_URL'), ['http:', 'https:']);
  for (const address of [baseUrl, inputs.legacyBaseUrl, inputs.authUrl]) {
    if (address === undefined || keepsSecrets(address)) continue;
    throw new UsageError(
      `${address} is plain http to another machine, which exposes credentials; use https.`,
    );
  }
  return {
    inputs: {
      ...inputs,
      baseUrl: baseUrl ?? '',
      apiKey: needed('api-key', 'SERVICE_API_KEY'),
      profile,
    },
    listen: listen === undefined ? undefined : readListen(listen),
    only: listOf(word('only')),
    timeoutMs: 1000 * readNumber('timeout', word('timeout') ?? '30', 1),
    paceMs: readNumber('pace', word('pace') ?? '50'),
    json: options['json'] === true,
    junit: word('junit'),
    html: word('html'),
  };
}

function isProfile(value: string): value is Profile {
  return (PROFILES as readonly string[]).includes(value);
}

function readUrl(name: string, value: string | undefined, protocols: readonly string[]): string | undefined {
  if (value === undefined) return undefined;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !protocols.includes(url.protocol) || url.username !== '' || url.password !== '') {
    throw new UsageError(`--${name} must be an address that starts with ${protocols.join('// or ')}//.`);
  }
  return value;
}

/** An app is given as a whole, with the address of its service. */
function readApp(
  word: (name: string) => string | undefined,
  secretFallback: string | undefined,
): OauthApp | undefined {
  const clientId = word('oauth-client-id');
  const redirectUri = word('oauth-redirect-uri');
  const clientSecret = word('oauth-client-secret') ?? (clientId === undefined ? undefined : secretFallback);
  if (clientId === undefined && clientSecret === undefined && redirectUri === undefined) return undefined;
  if (!clientId || !clientSecret || !redirectUri || word('auth-url') === undefined) {
    throw new UsageError(
      '--auth-url, --oauth-client-id, --oauth-client-secret and --oauth-redirect-uri must be used together.',
    );
  }
  return { clientId, clientSecret, redirectUri };
}

function readDigits(name: string, value: string | undefined): string | undefined {
  if (value === undefined || /^[1-9]\d{4,14}$/.test(value)) return value;
  throw new UsageError(`--${name} must be international digits, without +.`);
}

function readNumber(name: string, value: string, least = 0): number {
  if (/^\d{1,6}$/.test(value) && Number(value) >= least) return Number(value);
  throw new UsageError(`--${name} must be an integer from ${least} to 999999.`);
}

function readListen(value: string): { readonly host: string; readonly port: number } {
  const [, host = '127.0.0.1', port = ''] = /^(?:(.+):)?(\d{1,5})$/.exec(value) ?? [];
  if (port === '' || Number(port) > 65_535)
    throw new UsageError('--webhook-listen must be PORT or HOST:PORT.');
  return { host, port: Number(port) };
}
