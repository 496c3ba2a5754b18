import { describe, expect, it } from 'vitest';
import { connectorOptions } from '../../src/commands/connector-options.ts';
import { startOptions } from '../../src/commands/start-options.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { proves } from '../support/proves.ts';

const DATABASE_URL = 'postgres://127.0.0.1/messaging';
const SECRETS = {
  DATABASE_URL,
  CONNECTOR_API_TOKEN: 'token-of-a-test-0123456789',
  CONNECTOR_SEALING_KEYS: generateSealingKey(),
};
const BUCKET = {
  MEDIA_STORE: 's3',
  MEDIA_ENDPOINT: 'https://s3.example',
  MEDIA_BUCKET: 'crm-files',
  MEDIA_ACCESS_KEY_ID: 'id',
  MEDIA_SECRET_ACCESS_KEY: 'secret',
};
const OAUTH_WITHOUT_SECRET = {
  ...SECRETS,
  SERVICE_BASE_URL: 'https://service.example/api/v1',
  SERVICE_AUTH_URL: 'http://127.0.0.1:4010',
  SERVICE_CLIENT_ID: 'client',
  CONNECTOR_PUBLIC_URL: 'https://crm.example',
};

describe('the settings of npm run connector', () => {
  it.each<[string, Record<string, string>, string]>([
    ['no keys', { CONNECTOR_SEALING_KEYS: '' }, 'CONNECTOR_SEALING_KEYS'],
    [
      'a token of 23 characters',
      { CONNECTOR_API_TOKEN: 'abcdefghijklmnopqrstuvw' },
      'CONNECTOR_API_TOKEN: found only 23 characters',
    ],
    [
      'further tokens alone',
      { CONNECTOR_API_TOKEN: '', CONNECTOR_API_TOKENS: 'crm:read:abcdefghijklmnopqrstuvwx' },
      'CONNECTOR_API_TOKEN: is not set',
    ],
    [
      'one token in both settings',
      { CONNECTOR_API_TOKENS: `crm:read:${SECRETS.CONNECTOR_API_TOKEN}` },
      'CONNECTOR_API_TOKENS: contains the token of CONNECTOR_API_TOKEN',
    ],
    ['a webhook secret of one letter', { WEBHOOK_SECRET: 'b' }, 'WEBHOOK_SECRET: found only 1 char'],
    ['a short key', { CONNECTOR_SEALING_KEYS: 'short' }, 'CONNECTOR_SEALING_KEYS'],
    ['a service without its key', { SERVICE_BASE_URL: 'http://127.0.0.1:1' }, 'SERVICE_API_KEY'],
    ['a key without its service', { SERVICE_API_KEY: 'key' }, 'SERVICE_BASE_URL'],
    [
      'an address that no service is told of',
      { WEBHOOK_PUBLIC_URL: 'https://crm.example/' },
      'WEBHOOK_PUBLIC_URL',
    ],
    ['an address without TLS', { WEBHOOK_PUBLIC_URL: 'http://crm.example/' }, 'WEBHOOK_PUBLIC_URL'],
    ['files on a disk without a folder', { MEDIA_STORE: 'disk' }, 'MEDIA_FOLDER: is not set'],
    [
      'a folder without a store',
      { MEDIA_FOLDER: '/tmp/files' },
      'MEDIA_FOLDER: has no effect, because MEDIA_STORE is not set',
    ],
    ...['MEDIA_ENDPOINT', 'MEDIA_BUCKET', 'MEDIA_ACCESS_KEY_ID', 'MEDIA_SECRET_ACCESS_KEY'].map(
      (name): [string, Record<string, string>, string] => [
        `a bucket without ${name}`,
        { ...BUCKET, [name]: '' },
        `${name}: is not set, but MEDIA_STORE is s3`,
      ],
    ),
    [
      'a bucket in the address of its server',
      { ...BUCKET, MEDIA_ENDPOINT: 'https://s3.example/crm-files' },
      'MEDIA_ENDPOINT: has a path',
    ],
    ['a name that no bucket has', { ...BUCKET, MEDIA_BUCKET: 'Crm/../files' }, 'MEDIA_BUCKET'],
    ['a prefix that leads elsewhere', { ...BUCKET, MEDIA_PREFIX: '../' }, 'MEDIA_PREFIX'],
    ['an OAuth app without its secret', OAUTH_WITHOUT_SECRET, 'SERVICE_CLIENT_SECRET'],
    [
      'the webhook secret of an app that is not named',
      { SERVICE_CLIENT_WEBHOOK_SECRET: 'secret-of-16-and-more' },
      'SERVICE_CLIENT_WEBHOOK_SECRET: is the secret of an OAuth app',
    ],
    ['an OAuth app without its service', { CONNECTOR_PUBLIC_URL: 'https://crm.example' }, 'SERVICE_BASE_URL'],
    [
      'an authorization server without TLS on another machine',
      { ...OAUTH_WITHOUT_SECRET, SERVICE_CLIENT_SECRET: 'secret', SERVICE_AUTH_URL: 'http://auth.example' },
      'SERVICE_AUTH_URL',
    ],
    ['an unknown role', { CONNECTOR_ROLE: 'both' }, 'CONNECTOR_ROLE'],
    ['a hasty poll', { RECONCILE_INTERVAL_MS: '1000' }, 'RECONCILE_INTERVAL_MS'],
    ...[{}, { SERVICE_BASE_URL: 'https://service.example/api/v1', SERVICE_API_KEY: 'key' }].map(
      (service): [string, Record<string, string>, string] => [
        `a mistyped name of the database with ${JSON.stringify(service)}`,
        { ...service, DATABASE_URL: '', DATBASE_URL: DATABASE_URL },
        'DATABASE_URL: is not set; set it to your Postgres',
      ],
    ),
  ])('refuses %s and names the setting', (_, env, named) => {
    expect(() => connectorOptions({ ...SECRETS, ...env }, () => undefined)).toThrow(named);
  });

  it('name no database only if the service is on this machine', () => {
    const rehearsal = { SERVICE_BASE_URL: 'http://127.0.0.1:4010/api/v1', SERVICE_API_KEY: 'key' };
    const env = { ...SECRETS, ...rehearsal, DATABASE_URL: '' };
    expect(connectorOptions(env, () => undefined).databaseUrl).toBeUndefined();
  });

  it('name the store of files, and each retention', () => {
    const store = { MEDIA_REGION: 'eu-1', MEDIA_PREFIX: 'crm/', MEDIA_ADDRESSING: 'host' };
    expect(connectorOptions({ ...SECRETS, ...BUCKET, ...store }, () => undefined).mediaStore).toEqual({
      ...{ kind: 's3', endpoint: 'https://s3.example', region: 'eu-1', bucket: 'crm-files', prefix: 'crm/' },
      ...{ accessKeyId: 'id', secretAccessKey: 'secret', pathStyle: false },
    });
    const days = { INBOX_RETENTION_DAYS: '7', MESSAGE_RETENTION_DAYS: '8', CHANGE_RETENTION_DAYS: '9' };
    const env = { ...SECRETS, ...days, HISTORY_DAYS: '5' };
    for (const read of [connectorOptions, startOptions])
      expect(read(env, () => undefined)).toMatchObject({
        ...{ inboxRetentionDays: 7, messageRetentionDays: 8, changeRetentionDays: 9, historyDays: 5 },
      });
  });

  it('does not ask for an API key if the OAuth app is what is wrong', () => {
    const plain = {
      ...OAUTH_WITHOUT_SECRET,
      SERVICE_CLIENT_SECRET: 's',
      SERVICE_AUTH_URL: 'http://auth.example',
    };
    const read = () => connectorOptions(plain, () => undefined);
    expect(read).toThrow("SERVICE_AUTH_URL: found 'http://auth.example'");
    expect(read).not.toThrow('SERVICE_API_KEY');
  });

  it('accepts an OAuth app without an API key', () => {
    const whole = { ...OAUTH_WITHOUT_SECRET, SERVICE_CLIENT_SECRET: 'secret' };
    expect(connectorOptions(whole, () => undefined)).toMatchObject({
      service: undefined,
      oauth: {
        baseUrl: 'https://service.example/api/v1',
        authUrl: 'http://127.0.0.1:4010',
        clientId: 'client',
        clientSecret: 'secret',
        publicUrl: 'https://crm.example',
        webhookSecret: undefined,
      },
    });
    const heard = {
      ...whole,
      SERVICE_CLIENT_WEBHOOK_SECRET: 'signing-secret-of-an-app',
      CONNECTOR_RETURN_HOSTS: 'crm.example,app.crm.example',
    };
    expect(connectorOptions(heard, () => undefined).oauth).toMatchObject({
      webhookSecret: 'signing-secret-of-an-app',
      returnHosts: ['crm.example', 'app.crm.example'],
    });
  });

  it('polls every 45 s by default, and at the configured interval of 30 to 60 s', () => {
    proves('delivery.reconcile-period');
    const every = (ms?: string) => {
      const told = ms === undefined ? SECRETS : { ...SECRETS, RECONCILE_INTERVAL_MS: ms };
      return connectorOptions(told, () => undefined).reconcileIntervalMs;
    };
    expect([every(), every('30000'), every('60000')]).toEqual([45_000, 30_000, 60_000]);
    for (const ms of ['29999', '60001']) expect(() => every(ms)).toThrow('RECONCILE_INTERVAL_MS');
  });
});
