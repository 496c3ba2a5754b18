import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { demandWritable, readCommandLine, readPortBase } from '../../src/commands/command-line.ts';
import { explainLostKey, readLocalSecrets } from '../../src/commands/local-secrets.ts';
import { startOptions } from '../../src/commands/start-options.ts';
import { SealingError } from '../../src/runtime/sealing/key-ring.ts';
import { makeFolder } from '../support/make-folder.ts';

const START = {
  name: 'start',
  summary: 'runs the loop',
  options: {
    json: { type: 'boolean', description: 'print JSON' },
    'port-base': { type: 'string', value: 'N', description: 'listen on N' },
    'data-dir': { type: 'string', value: 'DIR', description: 'folder for data' },
  },
} as const;

describe('a command line', () => {
  const read = (words: readonly string[], env = {}): string => {
    let printed = '';
    const given = readCommandLine(
      START,
      words,
      (text) => {
        printed += text;
      },
      env,
    );
    readPortBase(given?.options ?? {});
    return printed;
  };

  it.each([
    [['--prot-base', '0'], '--prot-base'],
    [['4000'], '4000'],
    [['--port-base'], '--port-base'],
    [['--port-base', '80'], '"80"'],
    [['--port-base', '65516'], '"65516"'],
    [['--port-base', '4000.5'], '"4000.5"'],
  ])('is refused for %j, with the argument', (words, named) => {
    expect(() => read(words)).toThrow(
      expect.objectContaining({ name: 'UsageError', message: expect.stringContaining(named) }),
    );
  });

  it('is refused in one line for a value with a dash', () => {
    expect(() => read(['--port-base', '-1'])).toThrow(
      "Did you forget to specify the option argument for '--port-base'? To specify an option argument starting with a dash use '--port-base=-XYZ'. See --help.",
    );
  });

  it.each([['0'], ['1024'], ['65515']])('may give %s as the port base', (base) => {
    expect(readPortBase({ 'port-base': base })).toBe(Number(base));
  });

  it('with --version prints the version only', () => {
    expect(read(['--version'])).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it.each([
    [['4200'], { npm_config_port_base: 'true' }, 'npm start -- --port-base 4200'],
    [[], { npm_config_port_base: '4200' }, 'npm start -- --port-base 4200'],
    [
      ['4200', '/tmp/x'],
      { npm_config_port_base: 'true', npm_config_data_dir: 'true' },
      'npm start -- --port-base 4200 --data-dir /tmp/x',
    ],
  ])(
    'without -- before the arguments, which npm has consumed, is refused with the line that works: %j',
    (words, env, line) => {
      expect(() => read(words, env)).toThrow(
        expect.objectContaining({
          name: 'UsageError',
          message: expect.stringMatching(new RegExp(`Put -- before it: ${line}$`)),
        }),
      );
    },
  );
});

it('that is to write a file leaves none before there is a result, and keeps what a file has', () => {
  const folder = makeFolder();
  const [fresh, kept] = [join(folder, 'fresh'), join(folder, 'kept')];
  writeFileSync(kept, 'a report');
  demandWritable(fresh, kept, undefined);
  expect(existsSync(fresh)).toBe(false);
  expect(readFileSync(kept, 'utf8')).toBe('a report');
  expect(() => demandWritable(join(folder, 'no/report'))).toThrow('cannot be written: ENOENT.');
});

describe('the settings of npm start', () => {
  it('may not name a database on another machine without saying so', () => {
    const read = (env: Record<string, string>) => startOptions(env, () => undefined);
    const remote = 'postgres://crm:geheim@db.example.com/crm';
    let message = '';
    try {
      read({ DATABASE_URL: remote });
    } catch (error) {
      ({ message } = error as Error);
    }
    expect(message).toMatch(/^.*DATABASE_URL.*PLATFORM_DATABASE_URL/s);
    expect(message).not.toContain('geheim');
    expect(read({ DATABASE_URL: remote, PLATFORM_DATABASE_URL: remote }).databaseUrl?.reveal()).toBe(remote);
  });
});

it('the secrets of npm start are the same at the next start, and only their owner can read them', () => {
  const folder = makeFolder();
  const file = join(folder, '.data/secrets.json');
  const secrets = readLocalSecrets(file);
  expect(readLocalSecrets(file)).toEqual(secrets);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it('only a stored secret of another key leads to the folder of the earlier start', () => {
  expect(explainLostKey(new SealingError('unknown_key'), '.data/secrets.json')).toMatchObject({
    message: expect.stringContaining('another key than the one in .data/secrets.json'),
  });
  for (const error of [new SealingError('tampered'), new Error('no database')])
    expect(explainLostKey(error, '.data/secrets.json')).toBe(error);
});
