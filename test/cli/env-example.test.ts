import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  allSettings,
  connectorSettings,
  platformSettings,
  settingSections,
} from '../../src/commands/settings.ts';
import { readSettings } from '../../src/runtime/config/read-settings.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { renderEnvExample } from './render-env-example.ts';

const file = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8');

describe('.env.example', () => {
  it('matches the settings (if this fails, regenerate it with renderEnvExample)', () => {
    expect(file).toBe(renderEnvExample(settingSections({})));
  });

  it('changes nothing if it is copied unchanged', () => {
    expect(parseEnv(file)).toEqual({});
  });

  it('contains only valid examples', () => {
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

  it('allow a quick polling period in tests', () => {
    const env = { RECONCILE_INTERVAL_MS: '500', NODE_ENV: 'test' };
    expect(readSettings(connectorSettings(env), env).RECONCILE_INTERVAL_MS).toBe(500);
  });

  it('hide secrets when they are printed', () => {
    const canary = 'cAnaRy-7Kq2vXw9-0123456789';
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

describe('the API tokens', () => {
  const read = (value: string) =>
    readSettings(connectorSettings({}), { CONNECTOR_API_TOKENS: value }).CONNECTOR_API_TOKENS;
  const GOOD = 'abcdefghijklmnopqrstuvwx';

  it('consist of a name, rights and a value; several may have the same name', () => {
    const tokens = read(`crm:read+write:${GOOD}, crm:read+write:${GOOD}:2, prometheus:metrics:${GOOD}=3`);
    expect(tokens?.map(({ name, rights, token }) => [name, rights, token.reveal()])).toEqual([
      ['crm', ['read', 'write'], GOOD],
      ['crm', ['read', 'write'], `${GOOD}:2`],
      ['prometheus', ['metrics'], `${GOOD}=3`],
    ]);
    expect(JSON.stringify(tokens)).not.toContain(GOOD);
  });

  it.each([
    ['no rights', `crm:${GOOD}`, 'an entry that is not name:rights:token (entry 1)'],
    [
      'empty rights',
      `crm::${GOOD}`,
      'rights of "crm" that are not read, write, operate, metrics joined by +',
    ],
    ['an unknown right', `crm:read+admin:${GOOD}`, 'rights of "crm" that are not'],
    ['a right twice', `crm:read+read:${GOOD}`, 'rights of "crm" that are not'],
    ['a short token', 'crm:read:abcdefghijklmnopqrstuvw', 'a token of "crm" of only 23 characters'],
    ['a token of one character', `crm:read:${'a'.repeat(40)}`, 'a token of "crm" of the same few characters'],
    [
      'a token with a space',
      `crm:read:${GOOD} x`,
      'a token of "crm" that contains characters other than printable ASCII',
    ],
    ['the same token twice', `a:read:${GOOD},b:operate:${GOOD}`, 'the token of "b" twice (entry 2)'],
    [
      'the name of the other setting',
      `CONNECTOR_API_TOKEN:read:${GOOD}`,
      'the name CONNECTOR_API_TOKEN, which is taken',
    ],
    ['nothing but commas', ' , ', 'no entry'],
  ])('are refused with %s, and not printed', (_what, value, problem) => {
    expect(() => read(value)).toThrow(`CONNECTOR_API_TOKENS: found ${problem.split(' (entry')[0]}`);
    expect(() => read(value)).not.toThrow(GOOD);
  });
});

describe('sealing keys', () => {
  const read = (value: string) => readSettings(connectorSettings({}), { CONNECTOR_SEALING_KEYS: value });
  const key = generateSealingKey();

  it.each([
    ['zeros', 'A'.repeat(43), 'a key that is not random, but the same few bytes over and over (entry 1)'],
    ['a short one', `${key},short`, 'a key that is not 32 bytes as base64url'],
    ['one twice', `${key},${key}`, 'the same key twice (entry 2)'],
  ])('are refused: %s; the message explains how to create one', (_what, value, problem) => {
    expect(() => read(value)).toThrow(`CONNECTOR_SEALING_KEYS: found ${problem}`);
    expect(() => read(value)).toThrow("Generate one with: node -p \"require('node:crypto').randomBytes(32)");
    expect(() => read(value)).not.toThrow(key);
  });
});

describe('the settings of the platform', () => {
  it('accept only host names and IPv4 addresses without ports as own names, and otherwise name the setting', () => {
    const read = (value: string) => readSettings(platformSettings(), { PLATFORM_ALLOWED_HOSTS: value });
    const names = ['messaging-service', 'my_service', 'Box.lan', '192.168.7.7'];
    expect(read(names.join(', ')).PLATFORM_ALLOWED_HOSTS).toEqual(names);
    for (const wrong of ['*', '*.lan', 'box:4010', 'http://box', 'box/', '127.1', 'a b', '[::1]', ',']) {
      expect(() => read(wrong), wrong).toThrow('PLATFORM_ALLOWED_HOSTS');
    }
  });

  it('accept only addresses and ranges as trusted proxies, and otherwise name the setting', () => {
    const read = (value: string) => readSettings(platformSettings(), { PLATFORM_TRUSTED_PROXIES: value });
    expect(read('127.0.0.1, fd00::/8').PLATFORM_TRUSTED_PROXIES).toEqual(['127.0.0.1', 'fd00::/8']);
    for (const wrong of ['proxy.local', '10.0.0.0/33', '127.0.0.1, *', 'loopback', ',']) {
      expect(() => read(wrong)).toThrow('PLATFORM_TRUSTED_PROXIES');
    }
  });
});
