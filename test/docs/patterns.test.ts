import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readBlocks, readProjectFile } from '../support/markdown.ts';
import { ROOT } from '../support/root.ts';
import { type Ended, spawnCommand } from '../support/spawn-command.ts';

const PATTERNS = readdirSync(join(ROOT, 'src/patterns')).map((file) => file.replace(/\.ts$/, ''));
const PAGE = readProjectFile('docs/patterns.md');
const SECTIONS = new Map(
  PAGE.split(/^## /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), readBlocks(text)] as const),
);

/** What a team with strict habits sets. The types of Node are all that it has. */
const STRICT = {
  compilerOptions: {
    module: 'nodenext',
    target: 'es2023',
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noUnusedLocals: true,
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    outDir: 'out',
  },
  include: ['*.ts'],
};

/** A pattern alone in a folder, with the two programs of the page that are about it. */
interface Lifted {
  readonly compiled: Ended;
  /** What the mistake and the right use print. */
  readonly printed: readonly Ended[];
}

const folder = mkdtempSync(join(tmpdir(), 'patterns-'));
const lifted = new Map<string, Lifted>();

async function lift(pattern: string): Promise<Lifted> {
  const own = join(folder, pattern);
  mkdirSync(own);
  copyFileSync(join(ROOT, `src/patterns/${pattern}.ts`), join(own, `${pattern}.ts`));
  const [mistake, , use, , ...further] = SECTIONS.get(pattern) ?? [];
  // A program without an import would be a script, in which nothing can be awaited.
  writeFileSync(join(own, 'mistake.ts'), `${mistake?.text}\nexport {};\n`);
  writeFileSync(join(own, 'use.ts'), `${use?.text}\n`);
  for (const [index, block] of further.entries()) {
    writeFileSync(join(own, `further-${index}.ts`), `${block.text}\n`);
  }
  writeFileSync(join(own, 'tsconfig.json'), JSON.stringify(STRICT));
  writeFileSync(join(own, 'package.json'), JSON.stringify({ type: 'module' }));
  const compiled = await spawnCommand('tsc', ['-p', '.'], { cwd: own }).ended;
  const programs = ['out/mistake.js', 'out/use.js'];
  const printed = await Promise.all(
    programs.map((program) => spawnCommand('node', [program], { cwd: own }).ended),
  );
  return { compiled, printed };
}

beforeAll(async () => {
  // One after the other: together they would take the whole machine from the tests beside them.
  for (const pattern of PATTERNS) lifted.set(pattern, await lift(pattern));
}, 180_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('docs/patterns.md', () => {
  it('has a section for each pattern: the mistake, the right use, and what each prints', () => {
    expect([...SECTIONS.keys()].sort()).toEqual([...PATTERNS].sort());
    for (const [name, blocks] of SECTIONS) {
      expect({ name, languages: blocks.map(({ language }) => language) }).toEqual({
        name,
        // What follows is compiled and not run.
        languages: ['ts', 'text', 'ts', 'text', ...blocks.slice(4).map(() => 'ts')],
      });
    }
  });

  it.each(PATTERNS)('%s compiles under strict rules, alone in a folder', (pattern) => {
    expect(lifted.get(pattern)?.compiled).toEqual({ code: 0, stdout: '', stderr: '' });
    const use = SECTIONS.get(pattern)?.[2]?.text;
    expect(use).toContain(`from './${pattern}.js'`);
  });

  it.each([
    ['as npx tsc --init makes it', ['--init']],
    ['with the settings that TypeScript 5 began with', null],
  ])('all compile in a project %s, with what the page says', async (_what, init) => {
    const own = mkdtempSync(join(folder, 'stock-'));
    for (const pattern of PATTERNS) {
      copyFileSync(join(ROOT, `src/patterns/${pattern}.ts`), join(own, `${pattern}.ts`));
      copyFileSync(join(folder, pattern, 'use.ts'), join(own, `use-${pattern}.ts`));
    }
    writeFileSync(join(own, 'package.json'), JSON.stringify({ type: 'module' }));
    if (init === null) {
      const compilerOptions = {
        target: 'es2022',
        module: 'node16',
        esModuleInterop: true,
        forceConsistentCasingInFileNames: true,
        strict: true,
        skipLibCheck: true,
      };
      writeFileSync(join(own, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
    } else expect(await spawnCommand('tsc', init, { cwd: own }).ended).toMatchObject({ code: 0 });
    const types = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')];
    const compiled = await spawnCommand('tsc', ['-p', '.', '--outDir', 'out', ...types], { cwd: own }).ended;
    expect(compiled).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it.each(PATTERNS)('%s: the mistake goes wrong as shown', (pattern) => {
    const [mistake, told] = SECTIONS.get(pattern) ?? [];
    expect(mistake?.text).not.toContain(`./${pattern}.ts`);
    expect(lifted.get(pattern)?.printed[0]).toEqual({ code: 0, stdout: `${told?.text}\n`, stderr: '' });
  });

  it.each(PATTERNS)('%s: the right use prints what is shown', (pattern) => {
    const told = SECTIONS.get(pattern)?.[3];
    expect(lifted.get(pattern)?.printed[1]).toEqual({ code: 0, stdout: `${told?.text}\n`, stderr: '' });
  });
});
