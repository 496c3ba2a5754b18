import { ALL_RIGHTS_NAME, RIGHTS, type Right } from '../contract/connector/rights.ts';
import { LIMITS } from '../contract/service/limits.ts';
import { isAddressRange } from '../runtime/addresses/address-ranges.ts';
import type { Environment, Settings, SettingsDefinition } from '../runtime/config/read-settings.ts';
import { findWeakness, Secret } from '../runtime/config/secret.ts';
import * as setting from '../runtime/config/setting.ts';
import { isDatabaseUrl } from '../runtime/database/database-url.ts';
import { hostNameOf } from '../runtime/http-server/loopback.ts';
import { LOG_LEVELS } from '../runtime/logger/logger.ts';
import { equalSecrets } from '../runtime/sealing/equal-secrets.ts';
import { findKeyProblem, MAKE_SEALING_KEY } from '../runtime/sealing/key-ring.ts';

const TOKEN = /^[\x21-\x7e]+$/;
const MIN_TOKEN = 24;
/** The service chooses some of the secrets; its own are longer. */
const MIN_WEBHOOK_SECRET = 16;
const MAKE_TOKEN = `Generate one with: node -p "require('node:crypto').randomBytes(24).toString('base64url')"`;
/** Polling reads a status again for seven days: no message expires before. */
const MIN_MESSAGE_DAYS = 7;
const POSTGRES = ['postgres:', 'postgresql:'];
const HTTPS = ['https:'];

const HOST_NAME = /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/i;

function isTunnelTarget(text: string): boolean {
  return isAddressRange(text) || (HOST_NAME.test(text) && !/^[\d.]+$/.test(text));
}

/** Excludes ports, and spellings of addresses that URLs normalize: no `Host` would match them. */
function isNameInHost(text: string): boolean {
  return HOST_NAME.test(text) && hostNameOf(text) === text.toLowerCase();
}

function isHost(text: string): boolean {
  return /^[A-Za-z0-9.-]+(:\d{1,5})?$/.test(text);
}

const logLevel = setting.oneOf({
  description: 'Log level',
  values: LOG_LEVELS,
  default: 'info',
});

const databaseUrl = setting.secretUrl({
  description: 'Postgres of the connector (15 or newer)',
  protocols: POSTGRES,
  accepts: isDatabaseUrl,
  unset:
    'a Postgres from an npm package, for trying out with a service on this machine: its data is in .data/postgres, without a backup',
  example: 'postgres://user:password@127.0.0.1:5432/messaging',
});

const webhookSecret = setting.secret({
  description:
    'Signing secret of a webhook that was registered by hand; with only this and a database, the connector receives webhooks without ever calling the service',
  least: MIN_WEBHOOK_SECRET,
  unset: 'the connector registers its webhook itself and stores the sealed secret in its database',
});

/** A token of `CONNECTOR_API_TOKENS`. */
export interface NamedToken {
  readonly name: string;
  readonly rights: readonly Right[];
  readonly token: Secret;
}

/** Parses `name:rights:token`. Several tokens may have the same name, so that one can replace another. */
function readToken(item: string, before: readonly NamedToken[]): setting.ReadEntry<NamedToken> {
  const [, name = '', words = '', token = ''] = /^([\w.-]{1,64}):([a-z+]*):(.*)$/.exec(item) ?? [];
  if (name === '') return { problem: 'an entry that is not name:rights:token' };
  if (name === ALL_RIGHTS_NAME) return { problem: `the name ${ALL_RIGHTS_NAME}, which is taken` };
  const rights = RIGHTS.filter((right) => words.split('+').includes(right));
  if (rights.length !== words.split('+').length) {
    return {
      problem: `rights of "${name}" that are not ${RIGHTS.join(', ')} joined by +, each at most once`,
    };
  }
  if (!TOKEN.test(token))
    return { problem: `a token of "${name}" that contains characters other than printable ASCII` };
  const weakness = findWeakness(token, MIN_TOKEN);
  if (weakness !== undefined) return { problem: `a token of "${name}" of ${weakness}` };
  if (before.some((other) => equalSecrets(other.token.reveal(), token))) {
    return { problem: `the token of "${name}" twice` };
  }
  return { entry: { name, rights, token: new Secret(token) } };
}

function readSealingKeyEntry(item: string, before: readonly Secret[]): setting.ReadEntry<Secret> {
  const problem = findKeyProblem(item);
  if (problem !== undefined) return { problem: `a key that is ${problem}` };
  if (before.some((other) => equalSecrets(other.reveal(), item))) return { problem: 'the same key twice' };
  return { entry: new Secret(item) };
}

function trustedProxies(server: string) {
  return setting.list({
    description: `Reverse proxies in front of ${server} whose X-Forwarded-For is trusted; the caller's address is the rightmost one that is not listed here`,
    accepts: isAddressRange,
    allowed: 'one or more IPv4 or IPv6 addresses or CIDR ranges, separated by commas',
    unset: 'X-Forwarded-For is ignored',
    example: '10.0.0.0/8,fd00::/8',
  });
}

/**
 * Allowed range of the polling interval; tests of a whole process need a shorter one (`NODE_ENV=test`).
 * [delivery.reconcile-period]
 */
function reconcileRange(env: Environment) {
  const { reconcileIntervalMinMs: min, reconcileIntervalMaxMs: max } = LIMITS;
  return env['NODE_ENV'] === 'test' ? { min: 100, max: 3_600_000 } : { min, max };
}

/** The settings of `npm run connector`, those that it needs in production first. The environment only affects the range of the polling interval. */
export function connectorSettings(env: Environment) {
  return {
    DATABASE_URL: databaseUrl,
    SERVICE_BASE_URL: setting.confidentialUrl({
      description: 'Base address of the service of the first account and of the OAuth app, including /api/v1',
      unset: 'accounts are added through the API; npm start uses its own service',
      example: 'https://service.example/api/v1',
    }),
    SERVICE_API_KEY: setting.secret({
      description: 'API key of the first account',
      pattern: TOKEN,
      allowed: 'a secret of printable ASCII characters without spaces',
      unset: 'accounts are added through the API; npm start uses its own service',
    }),
    WEBHOOK_PUBLIC_URL: setting.url({
      description:
        'Public URL that leads to /webhooks/messaging of the connector; if set, the connector registers it with the service for each API key',
      protocols: HTTPS,
      unset: 'nothing is registered; npm start uses its own tunnel',
      example: 'https://crm.example/webhooks/messaging',
    }),
    CONNECTOR_API_TOKEN: setting.secret({
      description: 'Bearer token of the API under /v1 and of /metrics, with all rights',
      pattern: TOKEN,
      allowed: 'a secret of printable ASCII characters without spaces',
      least: MIN_TOKEN,
      make: MAKE_TOKEN,
      unset: 'the connector does not start; npm start generates one',
    }),
    CONNECTOR_SEALING_KEYS: setting.secretEntries({
      description:
        'Key ring that encrypts tokens and signing secrets in the database; the first key encrypts, all keys decrypt',
      read: readSealingKeyEntry,
      make: `Generate one with: ${MAKE_SEALING_KEY}`,
      allowed: 'one or more keys of 32 random bytes as base64url, separated by commas',
      unset: 'the connector does not start; npm start generates one',
    }),
    REDIS_URL: setting.secretUrl({
      description: 'Redis that carries notifications between processes, or several nodes of a Redis Cluster',
      protocols: ['redis:', 'rediss:'],
      many: true,
      unset: 'Postgres carries the notifications',
      example: 'redis://127.0.0.1:6379',
    }),
    CONNECTOR_HOST: setting.string({
      description: 'Address that the connector listens on',
      default: '127.0.0.1',
    }),
    CONNECTOR_PORT: setting.integer({
      description: 'Port that the connector listens on; 0 selects a free port',
      min: 0,
      max: 65_535,
      default: 4_020,
    }),
    CONNECTOR_API_TOKENS: setting.secretEntries<NamedToken>({
      description:
        'Additional tokens, each with a name for the audit trail and its rights: read, write (send, pair, manage connections, start consents), operate (accounts, rotation, dead letters, polling on request), metrics. Several may be valid at the same time, so a token can be replaced without interruption',
      read: readToken,
      allowed: `one or more of name:rights:token, separated by commas; rights are ${RIGHTS.join(', ')}, joined by +; a token has at least ${MIN_TOKEN} printable ASCII characters without spaces or commas`,
      make: MAKE_TOKEN,
      unset: 'CONNECTOR_API_TOKEN is the only token',
    }),
    CONNECTOR_ROLE: setting.oneOf({
      description:
        'What this process does: web (webhooks and API), worker (polling, sends, dispatch to the CRM) or all',
      values: ['all', 'web', 'worker'],
      default: 'all',
    }),
    CONNECTOR_SERVICE_HOSTS: setting.list({
      description:
        'Hosts (with the port unless it is the default) at which accounts added through the API may have their service',
      accepts: isHost,
      allowed: 'one or more hosts, separated by commas',
      unset:
        'only the host of SERVICE_BASE_URL, or only this machine if that is on this machine; without SERVICE_BASE_URL, any host with a public address',
      example: 'service.example,eu.service.example',
    }),
    WEBHOOK_SECRET: webhookSecret,
    RECONCILE_INTERVAL_MS: setting.integer({
      description: 'Polling interval, varied by random jitter',
      unit: 'milliseconds',
      ...reconcileRange(env),
      default: 45_000,
    }),
    CONNECTOR_HANDLERS: setting.path({
      description: 'Module whose onChange is called with each change',
      unset: 'changes are only available in the feed',
      example: './handlers.ts',
    }),
    CONNECTOR_PUBLIC_URL: setting.confidentialUrl({
      description:
        'Public URL of the connector; the redirect URI of the OAuth app is this URL followed by /oauth/callback',
      unset: 'OAuth grants cannot be started; npm start uses its own app',
      example: 'https://crm.example',
    }),
    CONNECTOR_RETURN_HOSTS: setting.list({
      description:
        'Hosts (with the port unless it is the default) that the returnUrl of a consent may point to',
      accepts: isHost,
      allowed: 'one or more hosts, separated by commas',
      unset: 'only the host of CONNECTOR_PUBLIC_URL, or only this machine if that is on this machine',
      example: 'crm.example,app.crm.example',
    }),
    SERVICE_AUTH_URL: setting.confidentialUrl({
      description: 'Address of the OAuth endpoints of the service',
      unset: 'OAuth grants cannot be started; npm start uses its own app',
      example: 'https://auth.service.example',
    }),
    SERVICE_CLIENT_ID: setting.string({
      description: 'Client id of the registered OAuth app',
      unset: 'OAuth grants cannot be started',
    }),
    SERVICE_CLIENT_SECRET: setting.secret({
      description: 'Client secret of the registered OAuth app',
      unset: 'OAuth grants cannot be started',
    }),
    SERVICE_CLIENT_WEBHOOK_SECRET: setting.secret({
      description:
        "Signing secret of the OAuth app's webhook. It is issued where the app is registered with the webhook URL that the connector logs at start",
      least: MIN_WEBHOOK_SECRET,
      unset: 'events of OAuth accounts are only found by polling; npm start uses the secret of its own app',
    }),
    CONNECTOR_TRUSTED_PROXIES: trustedProxies('the connector'),
    HISTORY_DAYS: setting.integer({
      description: 'How old the messages of a new connection may be that polling stores; 0: none from before',
      unit: 'days',
      min: 0,
      max: 3_650,
      unset: 'messages of any age',
      example: '30',
    }),
    MESSAGE_RETENTION_DAYS: setting.integer({
      description:
        'How long numbers, texts and files of messages are kept, wherever they are stored; then only the ids are left. Changes stay longer while a consumer needs them',
      unit: 'days',
      min: MIN_MESSAGE_DAYS,
      max: 3_650,
      unset: 'messages stay until their person is erased',
      example: '365',
    }),
    CHANGE_RETENTION_DAYS: setting.integer({
      description:
        'How long changes stay in the feed, at most MESSAGE_RETENTION_DAYS; longer while a consumer needs them',
      unit: 'days',
      min: 1,
      max: 3_650,
      unset: 'as long as messages',
      example: '90',
    }),
    MEDIA_STORE: setting.oneOf({
      description:
        'Where the files of messages are kept, so that they outlive the addresses of the service: disk (MEDIA_FOLDER) or s3 (a bucket). Set it for all processes',
      values: ['disk', 's3'],
      unset: 'no file is kept; GET /v1/messages/{id}/media fetches it from the service',
    }),
    MEDIA_FOLDER: setting.path({
      description: 'Folder of MEDIA_STORE=disk, which all processes share',
      unset: 'MEDIA_STORE is not disk',
      example: '/var/lib/messaging-connector/media',
    }),
    MEDIA_ENDPOINT: setting.url({
      description:
        'Address of the server of MEDIA_STORE=s3, without the bucket. Links to files lead there, so clients of the API must reach it as well',
      protocols: ['https:', 'http:'],
      unset: 'MEDIA_STORE is not s3',
      example: 'https://s3.eu-central-1.amazonaws.com',
    }),
    MEDIA_REGION: setting.string({
      description: 'Region of the bucket',
      default: 'us-east-1',
    }),
    MEDIA_BUCKET: setting.string({
      description: 'Name of the bucket',
      pattern: /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
      allowed: '3 to 63 lower-case letters, digits, dots and hyphens',
      unset: 'MEDIA_STORE is not s3',
    }),
    MEDIA_PREFIX: setting.string({
      description: 'What the keys of all objects begin with',
      pattern: /^([\w-][\w.-]*\/)+$/,
      allowed: 'letters, digits, _, -, . and /, which ends with / and does not begin with it',
      unset: 'nothing',
      example: 'crm/',
    }),
    MEDIA_ACCESS_KEY_ID: setting.string({
      description: 'Id of an access key that may put, read and delete objects of the bucket',
      unset: 'MEDIA_STORE is not s3',
    }),
    MEDIA_SECRET_ACCESS_KEY: setting.secret({
      description: 'Secret of the access key',
      unset: 'MEDIA_STORE is not s3',
    }),
    MEDIA_ADDRESSING: setting.oneOf({
      description: 'Where addresses contain the bucket: in the path, as most servers want it, or in the host',
      values: ['path', 'host'],
      default: 'path',
    }),
    INBOX_RETENTION_DAYS: setting.integer({
      description: 'How long the raw inbox is kept, at most MESSAGE_RETENTION_DAYS',
      unit: 'days',
      min: 1,
      max: 3_650,
      default: 30,
    }),
    LOG_LEVEL: logLevel,
  };
}

/** The values of the connector's settings. */
export type ConnectorSettings = Settings<ReturnType<typeof connectorSettings>>;

/** The settings of `npm run platform`. */
export function platformSettings() {
  return {
    DATABASE_URL: databaseUrl,
    PLATFORM_DATABASE_URL: setting.secretUrl({
      description: 'Postgres of the platform (15 or newer)',
      protocols: POSTGRES,
      accepts: isDatabaseUrl,
      unset: 'the same server as DATABASE_URL, in its own schema',
      example: 'postgres://user:password@127.0.0.1:5432/platform',
    }),
    PLATFORM_HOST: setting.string({
      description:
        'Address that npm run platform listens on; beyond this machine, PLATFORM_ALLOWED_HOSTS is required. npm start only listens on 127.0.0.1',
      default: '127.0.0.1',
    }),
    PLATFORM_ALLOWED_HOSTS: setting.list({
      description:
        'Names by which npm run platform is reached, besides those of this machine; requests for any other name are refused. The first one is used in the addresses that the service gives out',
      accepts: isNameInHost,
      allowed: 'one or more host names or IPv4 addresses without ports, separated by commas',
      unset: 'only localhost, 127.0.0.1 and [::1]',
      example: 'messaging-service,localhost',
    }),
    PLATFORM_TRUSTED_PROXIES: trustedProxies('the platform'),
    PLATFORM_TUNNEL_TARGETS: setting.list({
      description:
        'Targets that tunnels of the sandbox (PUT /sandbox/v1/hosts/{host}) may have besides this machine, for example a receiver in another container',
      accepts: isTunnelTarget,
      allowed: 'one or more IPv4 or IPv6 addresses, CIDR ranges or host names, separated by commas',
      unset: 'tunnels may only target this machine',
      example: '172.16.0.0/12,crm',
    }),
    WEBHOOK_SECRET: webhookSecret,
    LOG_LEVEL: logLevel,
  };
}

/** All settings: those of `npm start`, and the order of `.env.example`. */
export function allSettings(env: Environment) {
  return { ...connectorSettings(env), ...platformSettings() };
}

/** The last of the settings that a connector needs in production; they come first. */
const LAST_REQUIRED = 'CONNECTOR_SEALING_KEYS';

/** The settings in the sections of `.env.example`. */
export function settingSections(env: Environment): Readonly<Record<string, SettingsDefinition>> {
  const names = Object.keys(connectorSettings(env));
  const placeOf = (name: string): number => names.indexOf(name);
  const all = Object.entries(allSettings(env));
  const select = (isIn: (place: number) => boolean): SettingsDefinition =>
    Object.fromEntries(all.filter(([name]) => isIn(placeOf(name))));
  const last = placeOf(LAST_REQUIRED);
  return {
    'Required by npm run connector in production': select((place) => place >= 0 && place <= last),
    'Optional settings of the connector': select((place) => place > last),
    'Settings of npm start and npm run platform': select((place) => place < 0),
  };
}
