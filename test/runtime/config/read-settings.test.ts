import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../../src/runtime/config/configuration-error.ts';
import { readSettings, type SettingsDefinition } from '../../../src/runtime/config/read-settings.ts';
import { Secret } from '../../../src/runtime/config/secret.ts';
import * as setting from '../../../src/runtime/config/setting.ts';
import { makeFolder } from '../../support/make-folder.ts';

const definition = {
  APP_PORT: setting.integer({ description: 'port', min: 0, max: 65_535, default: 4_020 }),
  APP_MODE: setting.oneOf({ description: 'mode', values: ['all', 'web'], default: 'all' }),
  APP_NAME: setting.string({ description: 'name', pattern: /^[a-z]+$/ }),
  APP_URL: setting.url({ description: 'url', protocols: ['https:'] }),
  APP_PERIOD_MS: setting.integer({
    description: 'period',
    unit: 'milliseconds',
    min: 100,
    max: 1_000,
    default: 500,
  }),
  APP_HOSTS: setting.list({ description: 'hosts' }),
  APP_FILE: setting.path({ description: 'file' }),
  APP_TOKEN: setting.secret({ description: 'token', required: true, example: 'change-me' }),
  DATABASE_URL: setting.secretUrl({ description: 'database', protocols: ['postgres:'] }),
  REDIS_URL: setting.secretUrl({ description: 'redis', protocols: ['redis:'], many: true }),
  APP_KEYS: setting.secretEntries({
    description: 'keys',
    read: (item) => (/^k\d$/.test(item) ? { entry: new Secret(item) } : { problem: 'what is no key' }),
    allowed: 'keys like k1',
  }),
} satisfies SettingsDefinition;

/** The error message that these variables cause. */
function failureOf(env: Record<string, string>): string {
  try {
    readSettings(definition, { APP_TOKEN: 't', ...env });
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
    return (error as ConfigurationError).message;
  }
  expect.unreachable('it was accepted');
}

describe('reading settings', () => {
  it('returns typed values and defaults', () => {
    const settings = readSettings(definition, {
      APP_PORT: ' 8080 ',
      APP_MODE: 'web',
      APP_URL: 'https://crm.example/hooks//',
      APP_HOSTS: 'a, b,,c',
      APP_FILE: 'handlers.ts',
      APP_TOKEN: ' kept as it is ',
      DATABASE_URL: 'postgres://u:p@h/db',
      REDIS_URL: 'redis://a:1,redis://b:2',
      APP_KEYS: 'k1,k2',
    });
    const port: number = settings.APP_PORT;
    const mode: 'all' | 'web' = settings.APP_MODE;
    const name: string | undefined = settings.APP_NAME;
    const token: Secret = settings.APP_TOKEN;
    const database: Secret | undefined = settings.DATABASE_URL;

    expect([port, mode, name]).toEqual([8_080, 'web', undefined]);
    expect(settings.APP_PERIOD_MS).toBe(500);
    expect(settings.APP_URL).toBe('https://crm.example/hooks');
    expect(settings.APP_HOSTS).toEqual(['a', 'b', 'c']);
    expect(settings.APP_FILE).toBe(`${process.cwd()}/handlers.ts`);
    expect(token.reveal()).toBe(' kept as it is ');
    expect(database?.reveal()).toBe('postgres://u:p@h/db');
    expect(settings.REDIS_URL?.reveal()).toBe('redis://a:1,redis://b:2');
    expect(settings.APP_KEYS?.map((key) => key.reveal())).toEqual(['k1', 'k2']);
  });

  it('treats an empty variable as unset', () => {
    expect(readSettings(definition, { APP_TOKEN: 't', APP_PORT: '', APP_NAME: '  ' })).toMatchObject({
      APP_PORT: 4_020,
      APP_NAME: undefined,
    });
  });

  it('reports all problems in one message', () => {
    const message = failureOf({ APP_TOKEN: '', APP_PORT: '70000', APP_MODE: 'wbe' });
    expect(message).toBe(
      [
        '3 settings are invalid:',
        "  APP_PORT: found '70000'; it must be an integer from 0 to 65535. Correct it, or remove it (if unset: 4020).",
        "  APP_MODE: found 'wbe'; it must be one of all, web. Correct it, or remove it (if unset: all).",
        '  APP_TOKEN: is not set; it must be a non-empty secret. Set it, for example to change-me.',
      ].join('\n'),
    );
  });

  it.each([
    ['APP_PORT', '80x'],
    ['APP_PORT', '1e3'],
    ['APP_PORT', '0x10'],
    ['APP_PORT', '1.5'],
    ['APP_PORT', '-1'],
    ['APP_PERIOD_MS', '99'],
    ['APP_MODE', 'ALL'],
    ['APP_URL', 'crm.example'],
    ['APP_URL', 'http://crm.example'],
    ['APP_URL', 'https://crm.example/?a=1'],
    ['APP_HOSTS', ' , ,'],
    ['APP_NAME', 'a name'],
  ])('refuses %s=%s', (name, value) => {
    expect(failureOf({ [name]: value })).toContain(`  ${name}: found '`);
  });

  it.each([
    ['DATABASE_URL', 'mysql://user:cAnaRy@host/db'],
    ['DATABASE_URL', 'cAnaRy'],
    ['REDIS_URL', 'redis://:cAnaRy@a,http://b'],
    ['APP_URL', 'https://user:cAnaRy@crm.example'],
  ])('reveals no secret of an invalid %s', (name, value) => {
    const message = failureOf({ [name]: value });
    expect(message).toContain(`${name}: found a value of ${value.length} characters (not shown)`);
    expect(message).not.toContain('cAnaRy');
  });

  it('names the invalid entry of a list of secrets, and reveals none', () => {
    expect(failureOf({ APP_KEYS: 'k1,cAnaRy' })).toBe(
      'A setting is invalid:\n  APP_KEYS: found what is no key (entry 2); it must be keys like k1. Correct it, or remove it (if unset: no value).',
    );
  });

  it.each([
    ['DATABSE_URL', 'DATABASE_URL'],
    ['DATABASE_ULR', 'DATABASE_URL'],
    ['APP_PORTS', 'APP_PORT'],
    ['app_port', 'APP_PORT'],
  ])('warns that %s is probably %s', (found, meant) => {
    const warnings: string[][] = [];
    readSettings(definition, { APP_TOKEN: 't', [found]: 'x', PATH: '/bin', HOME: '/' }, (...warning) =>
      warnings.push(warning),
    );
    expect(warnings).toEqual([[found, meant]]);
  });

  it('does not warn of a variable that is only vaguely similar', () => {
    const warnings: string[] = [];
    readSettings(definition, { APP_TOKEN: 't', DATABASE_HOST: 'x', APP_PATH: 'x', PORT: '1' }, (found) =>
      warnings.push(found),
    );
    expect(warnings).toEqual([]);
  });
});

describe('a secret in a file', () => {
  let folder: string;
  const write = (text: string): string => {
    const file = join(folder, 'secret');
    writeFileSync(file, text);
    return file;
  };

  beforeEach(() => {
    folder = makeFolder();
  });

  it.each([
    ['as it is', 'of-a-file'],
    ['with the line end that editors add', 'of-a-file\n'],
    ['with that of Windows', 'of-a-file\r\n'],
  ])('is read %s', (_what, text) => {
    const { APP_TOKEN: token } = readSettings(definition, { APP_TOKEN_FILE: write(text) });
    expect(token.reveal()).toBe('of-a-file');
  });

  it('is read for every kind of secret, and for no other setting', () => {
    const url = write('postgres://u:p@h/db\n');
    const settings = readSettings(definition, { APP_TOKEN: 't', DATABASE_URL_FILE: url, APP_NAME_FILE: url });
    expect(settings.DATABASE_URL?.reveal()).toBe('postgres://u:p@h/db');
    expect(settings.APP_NAME).toBeUndefined();
    expect(
      readSettings(definition, { APP_TOKEN: 't', APP_KEYS_FILE: write('k1,k2\n') }).APP_KEYS,
    ).toHaveLength(2);
  });

  it('is refused along with the variable itself, unless one of the two is empty', () => {
    const file = write('of-a-file');
    expect(failureOf({ APP_TOKEN: 'cAnaRy', APP_TOKEN_FILE: file })).toBe(
      'A setting is invalid:\n  APP_TOKEN: is set, and so is APP_TOKEN_FILE; remove one of the two.',
    );
    expect(readSettings(definition, { APP_TOKEN: '', APP_TOKEN_FILE: file }).APP_TOKEN.reveal()).toBe(
      'of-a-file',
    );
    expect(readSettings(definition, { APP_TOKEN: 't', APP_TOKEN_FILE: ' ' }).APP_TOKEN.reveal()).toBe('t');
  });

  it('is reported by its variable if it is missing, empty, a folder or invalid', () => {
    const at = (path: string) => failureOf({ DATABASE_URL_FILE: path });
    expect(at(`${folder}/none`)).toContain(
      `DATABASE_URL_FILE: refers to ${folder}/none, which cannot be read (ENOENT)`,
    );
    expect(at(folder)).toContain('(EISDIR)');
    expect(at(write(' \n'))).toContain(`DATABASE_URL_FILE: refers to ${folder}/secret, which is empty`);
    const wrong = at(write('mysql://user:cAnaRy@host/db'));
    expect(wrong).toContain('DATABASE_URL_FILE: found a value of 27 characters (not shown)');
    expect(wrong).not.toContain('cAnaRy');
  });

  it('does not count as a mistyped name', () => {
    const warnings: string[] = [];
    readSettings(definition, { APP_TOKEN_FILE: write('t') }, (found) => warnings.push(found));
    expect(warnings).toEqual([]);
  });
});

describe('a secret that is too easy to guess', () => {
  const strong = {
    APP_SECRET: setting.secret({ description: 'secret', least: 24 }),
  } satisfies SettingsDefinition;

  it.each([
    ['23 characters', 'abcdefghijklmnopqrstuvw', 'only 23 characters'],
    ['one character', 'a'.repeat(24), 'the same few characters over and over'],
    ['a few characters', 'abc'.repeat(12), 'the same few characters over and over'],
  ])('is refused: %s', (_what, value, why) => {
    const reading = (): unknown => readSettings(strong, { APP_SECRET: value });
    expect(reading).toThrow(
      `APP_SECRET: found ${why}; it must be a non-empty secret, of at least 24 characters.`,
    );
    expect(reading).not.toThrow(value);
  });

  it('is not one with 24 random hex digits', () => {
    expect(
      readSettings(strong, { APP_SECRET: '0f3c1a9b77e2d4c05581aa3e' }).APP_SECRET?.reveal(),
    ).toHaveLength(24);
  });
});
