import { ALL_RIGHTS_NAME } from '../connector/api/token-guard.ts';
import { RIGHTS, type Right } from '../contract/connector/rights.ts';
import { isAddressRange } from '../runtime/addresses/address-ranges.ts';
import type { Environment } from '../runtime/config/read-settings.ts';
import { findWeakness, Secret } from '../runtime/config/secret.ts';
import * as setting from '../runtime/config/setting.ts';
import { LOG_LEVELS } from '../runtime/logger/logger.ts';
import { equalSecrets } from '../runtime/sealing/equal-secrets.ts';
import { findKeyProblem, MAKE_SEALING_KEY } from '../runtime/sealing/key-ring.ts';

const TOKEN = /^[\x21-\x7e]+$/;
const LEAST_TOKEN = 24;
/** The service chooses some of them; its own have more. */
const LEAST_WEBHOOK_SECRET = 16;
const MAKE_TOKEN = `Make one with: node -p "require('node:crypto').randomBytes(24).toString('base64url')"`;
const POSTGRES = ['postgres:', 'postgresql:'];
const HTTPS = ['https:'];

const HOST_NAME = /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/i;

function isTunnelTarget(text: string): boolean {
  return isAddressRange(text) || (HOST_NAME.test(text) && !/^[\d.]+$/.test(text));
}

function isHost(text: string): boolean {
  return /^[A-Za-z0-9.-]+(:\d{1,5})?$/.test(text);
}

const logLevel = setting.oneOf({
  description: 'How much is logged',
  values: LOG_LEVELS,
  default: 'info',
});

const databaseUrl = setting.secretUrl({
  description: 'Postgres of the connector (15 or newer)',
  protocols: POSTGRES,
  unset: 'a real Postgres, shipped by an npm package, with its data in .data/postgres',
  example: 'postgres://user:password@127.0.0.1:5432/messaging',
});

const webhookSecret = setting.secret({
  description:
    'Signing secret of webhooks that were registered by hand; with it and a database alone the connector receives webhooks without ever calling the service',
  least: LEAST_WEBHOOK_SECRET,
  unset: 'the connector registers its webhook itself and keeps the secret sealed in its database',
});

/** A token of `CONNECTOR_API_TOKENS`. */
export interface NamedToken {
  readonly name: string;
  readonly rights: readonly Right[];
  readonly token: Secret;
}

/** Reads `name:rights:token`. One name may stand at several tokens, so that one is replaced by the next. */
function readToken(item: string, before: readonly NamedToken[]): setting.ReadEntry<NamedToken> {
  const [, name = '', words = '', token = ''] = /^([\w.-]{1,64}):([a-z+]*):(.*)$/.exec(item) ?? [];
  if (name === '') return { problem: 'an entry that is not name:rights:token' };
  if (name === ALL_RIGHTS_NAME) return { problem: `the name ${ALL_RIGHTS_NAME}, which is taken` };
  const rights = RIGHTS.filter((right) => words.split('+').includes(right));
  if (rights.length !== words.split('+').length) {
    return { problem: `rights of "${name}" that are not ${RIGHTS.join(', ')} joined by +, each once` };
  }
  if (!TOKEN.test(token))
    return { problem: `a token of "${name}" that is not of printable ASCII characters` };
  const weakness = findWeakness(token, LEAST_TOKEN);
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
    description: `Proxies in front of ${server} whose X-Forwarded-For is believed; the address of a caller is the rightmost one that is none of them`,
    accepts: isAddressRange,
    allowed: 'one or more IPv4 or IPv6 addresses or CIDR ranges, separated by commas',
    unset: 'X-Forwarded-For is ignored',
    example: '10.0.0.0/8,fd00::/8',
  });
}

/** Where polling may be set to; tests of a whole process need it faster (`NODE_ENV=test`). */
function reconcileRange(env: Environment): { min: number; max: number } {
  return env['NODE_ENV'] === 'test' ? { min: 100, max: 3_600_000 } : { min: 30_000, max: 60_000 };
}

/** The settings of `npm run connector`. The environment matters for the range of the polling interval alone. */
export function connectorSettings(env: Environment) {
  return {
    DATABASE_URL: databaseUrl,
    REDIS_URL: setting.secretUrl({
      description: 'Redis for wake-ups and shared schedules, or several nodes of a Redis Cluster',
      protocols: ['redis:', 'rediss:'],
      many: true,
      unset: 'Postgres does the same',
      example: 'redis://127.0.0.1:6379',
    }),
    CONNECTOR_HOST: setting.string({ description: 'Address the connector listens on', default: '127.0.0.1' }),
    CONNECTOR_PORT: setting.integer({
      description: 'Port the connector listens on; 0 takes a free one',
      min: 0,
      max: 65_535,
      default: 4_020,
    }),
    CONNECTOR_API_TOKEN: setting.secret({
      description: 'Bearer token of the API under /v1 and of /metrics, with all rights',
      pattern: TOKEN,
      allowed: 'a secret of printable ASCII characters without spaces',
      least: LEAST_TOKEN,
      make: MAKE_TOKEN,
      unset: 'the connector refuses to start; npm start makes one',
    }),
    CONNECTOR_API_TOKENS: setting.secretEntries<NamedToken>({
      description:
        'Further tokens, each with a name for the audit trail and its rights: read, write (send, pair, manage connections, start consents), operate (accounts, rotation, dead letters, polling now), metrics. Several are valid at once, so a token is replaced without a gap',
      read: readToken,
      allowed: `one or more of name:rights:token, separated by commas; rights are ${RIGHTS.join(', ')}, joined by +; a token has at least ${LEAST_TOKEN} printable ASCII characters without spaces and commas`,
      make: MAKE_TOKEN,
      unset: 'the one token has all rights',
    }),
    CONNECTOR_ROLE: setting.oneOf({
      description:
        'What this process does: web (webhooks and API), worker (polling, sends, hand-over to the CRM) or all',
      values: ['all', 'web', 'worker'],
      default: 'all',
    }),
    CONNECTOR_SEALING_KEYS: setting.secretEntries({
      description:
        'Key ring that seals tokens and signing secrets in the database; the first key seals, all of them open',
      read: readSealingKeyEntry,
      make: `Make one with: ${MAKE_SEALING_KEY}`,
      allowed: 'one or more keys of 32 random bytes as base64url, separated by commas',
      unset: 'the connector refuses to start; npm start makes one',
    }),
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
    CONNECTOR_SERVICE_HOSTS: setting.list({
      description:
        'Hosts, with their port if it is not the usual one, at which accounts that the API adds may have their service',
      accepts: isHost,
      allowed: 'one or more hosts, separated by commas',
      unset:
        'the host of SERVICE_BASE_URL alone; where that is this machine, this machine; without SERVICE_BASE_URL any host at public addresses',
      example: 'service.example,eu.service.example',
    }),
    WEBHOOK_PUBLIC_URL: setting.url({
      description:
        'Public address of the webhook receiver; when set, the connector registers it with the service, by each API key',
      protocols: HTTPS,
      unset: 'nothing is registered; npm start uses its own tunnel',
      example: 'https://crm.example/webhooks/messaging',
    }),
    WEBHOOK_SECRET: webhookSecret,
    RECONCILE_INTERVAL_MS: setting.duration({
      description: 'Polling period, spread by jitter',
      ...reconcileRange(env),
      default: 45_000,
    }),
    CONNECTOR_HANDLERS: setting.path({
      description: 'Module whose onChange is called with each change',
      unset: 'changes are read from the feed alone',
      example: './handlers.ts',
    }),
    CONNECTOR_PUBLIC_URL: setting.confidentialUrl({
      description:
        'Public address of the connector; the redirect URI of the OAuth app is this and /oauth/callback',
      unset: 'OAuth grants cannot be started; npm start uses an app of its own',
      example: 'https://crm.example',
    }),
    CONNECTOR_RETURN_HOSTS: setting.list({
      description:
        'Hosts, with their port if it is not the usual one, to which the returnUrl of a consent may lead',
      accepts: isHost,
      allowed: 'one or more hosts, separated by commas',
      unset: 'the host of CONNECTOR_PUBLIC_URL alone; where that is this machine, this machine',
      example: 'crm.example,app.crm.example',
    }),
    SERVICE_AUTH_URL: setting.confidentialUrl({
      description: 'Address of the OAuth endpoints of the service',
      unset: 'OAuth grants cannot be started; npm start uses an app of its own',
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
        "Signing secret of the OAuth app's webhook, from where the app is registered with the webhook address that the connector logs at start",
      least: LEAST_WEBHOOK_SECRET,
      unset: 'polling alone brings the events of OAuth accounts; npm start uses that of its own app',
    }),
    CONNECTOR_TRUSTED_PROXIES: trustedProxies('the connector'),
    INBOX_RETENTION_DAYS: setting.integer({
      description: 'How long the raw inbox is kept',
      unit: 'days',
      min: 1,
      max: 3_650,
      default: 30,
    }),
    LOG_LEVEL: logLevel,
  };
}

/** The settings of `npm run platform`. */
export function platformSettings() {
  return {
    DATABASE_URL: databaseUrl,
    PLATFORM_DATABASE_URL: setting.secretUrl({
      description: 'Postgres of the platform (15 or newer)',
      protocols: POSTGRES,
      unset: 'the same server as DATABASE_URL, in a schema of its own',
      example: 'postgres://user:password@127.0.0.1:5432/platform',
    }),
    PLATFORM_TRUSTED_PROXIES: trustedProxies('the platform'),
    PLATFORM_TUNNEL_TARGETS: setting.list({
      description:
        'Where tunnels of the sandbox (PUT /sandbox/v1/hosts/{host}) may lead besides this machine, a receiver in another container for example',
      accepts: isTunnelTarget,
      allowed: 'one or more IPv4 or IPv6 addresses, CIDR ranges or host names, separated by commas',
      unset: 'tunnels lead to this machine only',
      example: '172.16.0.0/12,crm',
    }),
    WEBHOOK_SECRET: webhookSecret,
    LOG_LEVEL: logLevel,
  };
}

/** Every setting there is: those of `npm start`, and the order of `.env.example`. */
export function allSettings(env: Environment) {
  const { DATABASE_URL, ...connector } = connectorSettings(env);
  const { WEBHOOK_SECRET: _secret, LOG_LEVEL: _level, DATABASE_URL: _url, ...platform } = platformSettings();
  return { DATABASE_URL, ...platform, ...connector };
}
