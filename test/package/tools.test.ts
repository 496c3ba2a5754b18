import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { SECRET, startGalleryReceiver } from '../../packages/certify/test/gallery/receiver.ts';
import { readProjectFile } from '../support/markdown.ts';
import { importsOf, mustSucceed, NPM_ENV } from '../support/npm.ts';
import { OLD_NODES } from '../support/old-node.ts';
import { ROOT } from '../support/root.ts';
import { type Ended, spawnCommand } from '../support/spawn-command.ts';

/** A project of a user, in which both packages are installed. */
let folder: string;

beforeAll(async () => {
  const base = mkdtempSync(join(tmpdir(), 'tools-'));
  folder = join(base, 'user');
  mkdirSync(folder);
  const words = ['pack', '-w', 'packages/certify', '-w', 'packages/conformance', '--pack-destination', base];
  await mustSucceed(spawnCommand('npm', words, { cwd: ROOT, env: NPM_ENV }));
  const files = globSync('*.tgz', { cwd: base }).map((name) => join(base, name));
  const install = ['install', ...files, '--prefer-offline', '--no-audit', '--no-fund'];
  await mustSucceed(spawnCommand('npm', install, { cwd: folder, env: NPM_ENV }));
});

afterAll(() => {
  if (folder !== undefined) rmSync(join(folder, '..'), { recursive: true, force: true });
});

const npx = (words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  spawnCommand('npx', ['--no-install', ...words], { cwd: folder, env: { ...NPM_ENV, ...env } }).ended;

describe.each([
  ['messaging-certify', '[url] [options]'],
  ['messaging-conformance', 'service [options]'],
])('the package %s', (name, words) => {
  const installed = (): string => join(folder, 'node_modules', name);

  it('contains only compiled code and its data, and no path of the machine that built it', () => {
    const files = globSync('**/*.*', { cwd: installed() });
    const others = files.filter((file) => !/^(?:dist\/)?package\.json$|^dist\/.+\.(?:m?js|json)$/.test(file));
    expect(others).toEqual([]);
    expect(files.length).toBeLessThan(130);
    const telling = files.filter((file) => readFileSync(join(installed(), file), 'utf8').includes(ROOT));
    expect(telling).toEqual([]);
  });

  it('imports only its dependencies', () => {
    const manifest = JSON.parse(readFileSync(join(installed(), 'package.json'), 'utf8'));
    expect(importsOf(join(installed(), manifest.bin[name]))).toEqual(Object.keys(manifest.dependencies));
  });

  it('is called by its name, and prints its version', async () => {
    const [help, version] = await Promise.all([
      npx([name, '--help']),
      npx([name, ...words.split(' ', 1), '--version']),
    ]);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toMatch(`Usage: npx --no-install ${name} ${words}\n`);
    expect(version.stdout).toBe(`${JSON.parse(readProjectFile('package.json')).version}\n`);
  });

  it('reports an old Node in one line', async () => {
    const [{ node, env } = { node: '', env: {} }] = OLD_NODES;
    const program = join(folder, 'node_modules/.bin', name);
    const ended = await spawnCommand(node, [program], { cwd: folder, env }).ended;
    expect(ended).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(`^${name} needs Node`),
    });
  });
});

it('a receiver is certified by the installed package', async () => {
  const receiver = await startGalleryReceiver({});
  const { code, stdout } = await npx(['messaging-certify', receiver.url, '--only', 'payload,signature'], {
    CERTIFY_SECRET: SECRET,
  });
  await receiver.close();
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^(\d+) of \1 checks kept/m)]);
});

it('a receiver is certified by the action, from a checkout without packages', async () => {
  const checkout = join(folder, '../checkout');
  mkdirSync(checkout);
  const copy = 'git ls-files -z package.json package-lock.json packages src | xargs -0 cp --parents -t';
  await mustSucceed(spawnCommand('sh', ['-c', `${copy} "$0"`, checkout], { cwd: ROOT }));
  const receiver = await startGalleryReceiver({});
  const given: Readonly<Record<string, string>> = {
    'github.action_path': checkout,
    'inputs.url': receiver.url,
    'inputs.secret': SECRET,
    'inputs.options': '--only payload,signature',
    'inputs.wait': '5',
  };
  const { runs } = parse(readProjectFile('action.yml')) as {
    runs: { steps: { run: string; env: Record<string, string> }[] };
  };
  for (const { run, env } of runs.steps) {
    const values = Object.entries(env).map(([name, value]) => [name, given[value.slice(4, -3)] ?? value]);
    const options = { cwd: folder, env: { ...NPM_ENV, ...Object.fromEntries(values) } };
    await mustSucceed(spawnCommand('bash', ['-e', '-c', run], options));
  }
  await receiver.close();
  expect(readFileSync(join(folder, 'certify.xml'), 'utf8')).toMatch(/<testsuites[^>]* failures="0"/);
});
