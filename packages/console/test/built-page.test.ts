import { globSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { BUILT_PAGE, ensurePage, foreseeProblem, isFresh } from '../../../src/console-host/build-page.ts';
import { makeFolder } from '../../../test/support/make-folder.ts';
import { ROOT } from '../../../test/support/root.ts';
import { spawnCommand } from '../../../test/support/spawn-command.ts';

const FIRST_SCREEN_BYTES = 140_000;
const ALL_BYTES = 210_000;
const FONT_BYTES = 70_000;

const ASSETS = join(BUILT_PAGE, 'assets');
const read = (name: string): string => readFileSync(join(ASSETS, name), 'utf8');
const packed = (names: Iterable<string>): number =>
  [...names].reduce((sum, name) => sum + gzipSync(read(name), { level: 9 }).length, 0);

interface Chunk {
  readonly file: string;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
}

/** The files that the first screen loads: those of the page and of the overview. */
function firstScreen(): ReadonlySet<string> {
  const text = readFileSync(join(BUILT_PAGE, '.vite/manifest.json'), 'utf8');
  const chunks = JSON.parse(text) as Readonly<Record<string, Chunk>>;
  const names = new Set(['index.html']);
  const files = new Set<string>();
  for (const name of names) {
    const chunk = chunks[name];
    if (chunk === undefined) throw new Error(`${name} was not built`);
    for (const other of chunk.imports ?? []) names.add(other);
    for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(basename(file));
  }
  return files;
}

describe('the built page', () => {
  beforeAll(() => ensurePage());

  it('has at most 140 kB of scripts and styles on the first screen and 210 kB in all, compressed', () => {
    const all = globSync('*.{js,css}', { cwd: ASSETS });
    const first = firstScreen();
    expect(first.size).toBeGreaterThan(2);
    expect(first.size).toBeLessThan(all.length);
    expect(packed(first)).toBeLessThanOrEqual(FIRST_SCREEN_BYTES);
    expect(packed(all)).toBeLessThanOrEqual(ALL_BYTES);
  });

  it('has at most 70 kB of fonts, of its own', () => {
    const fonts = globSync('*.woff2', { cwd: ASSETS });
    expect(fonts.length).toBeGreaterThan(0);
    const bytes = fonts.reduce((sum, name) => sum + statSync(join(ASSETS, name)).size, 0);
    expect(bytes).toBeLessThanOrEqual(FONT_BYTES);
    const styles = globSync('*.css', { cwd: ASSETS }).map(read).join('\n');
    expect(styles.match(/url\((?!\.?\/)[^)]*\)/g)).toBeNull();
  });

  it('contains no validator of the contract, of which it uses only types', () => {
    const scripts = globSync('*.js', { cwd: ASSETS }).map(read);
    expect(scripts.length).toBeGreaterThan(3);
    expect(scripts.filter((script) => /ZodError|safeParse/.test(script))).toEqual([]);
  });
});

describe('a missing page', () => {
  it('is foreseen where Vite is not installed and nothing is built', () => {
    const folder = makeFolder();
    expect(foreseeProblem(null, folder)).toContain('Vite, which builds it, is not installed. Run `npm ci`.');
    expect(foreseeProblem('vite.js', folder)).toBeNull();
    writeFileSync(join(folder, 'index.html'), '');
    expect(foreseeProblem(null, folder)).toBeNull();
  });
});

describe('a page that is older than its sources', () => {
  it('is built again, and served where Vite is not installed', async () => {
    const folder = makeFolder();
    expect(await isFresh(null, folder)).toBe(false);
    writeFileSync(join(folder, 'index.html'), '');
    expect(await isFresh('vite.js', folder)).toBe(true);
    utimesSync(join(folder, 'index.html'), 1, 1);
    expect(await isFresh('vite.js', folder)).toBe(false);
    expect(await isFresh(null, folder)).toBe(true);
  });
});

describe('the build', () => {
  it.each(['node:fs', 'fs', 'node:crypto'])('fails for a page that imports %s', async (builtin) => {
    const folder = makeFolder();
    writeFileSync(join(folder, 'index.html'), '<script type="module" src="./main.ts"></script>');
    writeFileSync(join(folder, 'main.ts'), `import * as part from '${builtin}';\nconsole.log(part);\n`);
    const words = [
      join(ROOT, 'node_modules/vite/bin/vite.js'),
      'build',
      folder,
      '--outDir',
      join(folder, 'out'),
    ];
    const { code, stderr } = await spawnCommand(
      'node',
      [...words, '--config', join(ROOT, 'packages/console/vite.config.ts')],
      { cwd: ROOT },
    ).ended;
    expect(code).toBe(1);
    expect(stderr).toContain(`The page imports ${builtin}, which only Node has`);
    expect(stderr).toContain(`${basename(folder)}/main.ts`);
  });
});
