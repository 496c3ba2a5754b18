import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { allSettings, connectorSettings, platformSettings } from '../../src/cli/settings.ts';
import { readSettings } from '../../src/runtime/config/read-settings.ts';
import { renderEnvExample } from '../../src/runtime/config/render-settings.ts';

const file = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8');

const NAMES = [
  'DATABASE_URL',
  'PLATFORM_DATABASE_URL',
  'PLATFORM_TRUSTED_PROXIES',
  'REDIS_URL',
  'CONNECTOR_HOST',
  'CONNECTOR_PORT',
  'CONNECTOR_API_TOKEN',
  'CONNECTOR_ROLE',
  'CONNECTOR_SEALING_KEYS',
  'SERVICE_BASE_URL',
  'SERVICE_API_KEY',
  'WEBHOOK_PUBLIC_URL',
  'WEBHOOK_SECRET',
  'RECONCILE_INTERVAL_MS',
  'CONNECTOR_HANDLERS',
  'CONNECTOR_PUBLIC_URL',
  'SERVICE_AUTH_URL',
  'SERVICE_CLIENT_ID',
  'SERVICE_CLIENT_SECRET',
  'SERVICE_CLIENT_WEBHOOK_SECRET',
  'INBOX_RETENTION_DAYS',
  'LOG_LEVEL',
];

describe('.env.example', () => {
  it('says what the settings are (write it anew with renderEnvExample when this fails)', () => {
    expect(file).toBe(renderEnvExample(allSettings({})));
  });

  it('names every setting', () => {
    const named = [...file.matchAll(/^#([A-Z_]+)=/gm)].map((match) => match[1]);
    expect(named).toEqual(NAMES);
  });

  it('changes nothing when it is copied as it is', () => {
    expect(parseEnv(file)).toEqual({});
  });

  it('shows examples that are allowed', () => {
    const enabled = parseEnv(file.replace(/^#([A-Z_]+=)/gm, '$1'));
    expect(() => readSettings(allSettings(enabled), enabled)).not.toThrow();
  });
});

describe('the settings of the connector', () => {
  it('have the documented defaults', () => {
    expect(readSettings(connectorSettings({}), {})).toMatchObject({
      CONNECTOR_HOST: '127.0.0.1',
      CONNECTOR_PORT: 4_020,
      CONNECTOR_ROLE: 'all',
      RECONCILE_INTERVAL_MS: 45_000,
      INBOX_RETENTION_DAYS: 30,
      LOG_LEVEL: 'info',
      DATABASE_URL: undefined,
      CONNECTOR_API_TOKEN: undefined,
    });
  });

  it.each(['29999', '60001'])('refuse a polling period of %s ms outside tests', (period) => {
    const env = { RECONCILE_INTERVAL_MS: period };
    expect(() => readSettings(connectorSettings(env), env)).toThrow('from 30000 to 60000');
  });

  it('allow a quick polling period in tests', () => {
    const env = { RECONCILE_INTERVAL_MS: '500', NODE_ENV: 'test' };
    expect(readSettings(connectorSettings(env), env).RECONCILE_INTERVAL_MS).toBe(500);
  });

  it('keep secrets out of what is printed of them', () => {
    const canary = 'cAnaRy-7Kq2vXw9';
    const env = {
      DATABASE_URL: `postgres://user:${canary}@127.0.0.1/db`,
      REDIS_URL: `redis://:${canary}@one:6379,redis://two:6379`,
      CONNECTOR_API_TOKEN: canary,
      CONNECTOR_SEALING_KEYS: `${canary.padEnd(43, 'A')}`,
      SERVICE_API_KEY: canary,
      WEBHOOK_SECRET: canary,
      SERVICE_CLIENT_SECRET: canary,
      SERVICE_CLIENT_WEBHOOK_SECRET: canary,
    };
    const settings = readSettings(connectorSettings(env), env);

    expect(JSON.stringify(settings)).not.toContain(canary);
    expect(settings.DATABASE_URL?.reveal()).toContain(canary);
    expect(settings.CONNECTOR_SEALING_KEYS?.[0]?.reveal()).toContain(canary);
  });
});

describe('the settings of the platform', () => {
  it('take addresses and ranges alone for trusted proxies, and name the setting otherwise', () => {
    const read = (value: string) => readSettings(platformSettings(), { PLATFORM_TRUSTED_PROXIES: value });
    expect(read('127.0.0.1, fd00::/8').PLATFORM_TRUSTED_PROXIES).toEqual(['127.0.0.1', 'fd00::/8']);
    for (const wrong of ['proxy.local', '10.0.0.0/33', '127.0.0.1, *', 'loopback', ',']) {
      expect(() => read(wrong)).toThrow('PLATFORM_TRUSTED_PROXIES');
    }
  });
});
