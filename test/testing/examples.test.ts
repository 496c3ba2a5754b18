import { mkdir, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { makeFolder } from '../support/make-folder.ts';
import { readBlocks, readProjectFile } from '../support/markdown.ts';
import { ROOT } from '../support/root.ts';
import { spawnCommand } from '../support/spawn-command.ts';

describe('examples/testing/vitest.test.ts', async () => {
  // It runs here, in this run of vitest.
  process.env['DATABASE_URL'] = inject('databaseUrl');
  afterAll(() => {
    delete process.env['DATABASE_URL'];
  });
  await import('../../examples/testing/vitest.test.ts');
});

it('examples/testing/node-test.test.ts passes', async () => {
  const folder = makeFolder();
  const source = readProjectFile('examples/testing/node-test.test.ts');
  const testing = pathToFileURL(join(ROOT, 'src/testing/index.ts')).href;
  await mkdir(join(folder, 'tests'));
  const file = join(folder, 'tests/node-test.test.ts');
  await writeFile(file, source.replace("'messaging-connector/testing'", `'${testing}'`));
  const env = { DATABASE_URL: inject('databaseUrl') };
  const { code, stdout } = await spawnCommand('node', ['--test', file], { cwd: folder, env }).ended;
  expect({ code, passed: /^ℹ pass (\d+)$/m.exec(stdout)?.[1] }, stdout).toEqual({ code: 0, passed: '4' });
});

it('the example for Jest is the one for Vitest without types', () => {
  // Jest is not installed for one example. It has passed there with `NODE_OPTIONS=--experimental-vm-modules`.
  const bodyOf = (name: string): string => {
    const source = stripTypeScriptTypes(readProjectFile(`examples/testing/${name}`));
    return source.slice(source.indexOf('const CONTACT')).replace(/[\s;]+/g, '');
  };
  expect(bodyOf('jest.test.mjs')).toBe(bodyOf('vitest.test.ts'));
});

it('docs/testing.md shows the example for Vitest', () => {
  const blocks = readBlocks(readProjectFile('docs/testing.md'));
  const [vitest] = blocks.map(({ text }) => text.trimEnd());
  const ci = blocks.find(({ language }) => language === 'yaml')?.text ?? '';
  expect(vitest).toBe(readProjectFile('examples/testing/vitest.test.ts').trimEnd());
  expect(parse(ci)).toMatchObject({
    jobs: { test: { env: { DATABASE_URL: expect.stringMatching(/^postgres:/) } } },
  });
});
