import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/root.ts';

/** They color what they are added to, and mean the same wherever they are. */
const TONES = ['good', 'warn', 'bad'];

/** The selectors of a style sheet, one by one. */
function selectorsOf(text: string): readonly string[] {
  const rules = text.replace(/\/\*[\s\S]*?\*\//g, '').match(/[^{}]+(?=\{)/g) ?? [];
  return rules
    .flatMap((rule) => rule.split(','))
    .map((each) => each.replace(/:not\([^)]*\)/g, '').trim())
    .filter((each) => each !== '' && !each.startsWith('@'));
}

/** The classes that a sheet styles wherever they occur, as `.line`, and those that vary another, as `.button.quiet`. */
function classesOf(text: string): {
  readonly own: ReadonlySet<string>;
  readonly variants: ReadonlySet<string>;
} {
  const selectors = selectorsOf(text);
  return {
    own: new Set(selectors.flatMap((each) => /^\.([\w-]+)$/.exec(each)?.[1] ?? [])),
    variants: new Set(
      selectors.flatMap((each) => [...each.matchAll(/\.[\w-]+\.([\w-]+)/g)].map(([, name = '']) => name)),
    ),
  };
}

const sheets = globSync('packages/console/src/**/*.css', { cwd: ROOT }).map((path) => ({
  name: basename(path),
  ...classesOf(readFileSync(join(ROOT, path), 'utf8')),
}));

describe('the style sheets of the console', () => {
  it('are read as a browser does', () => {
    const { own, variants } = classesOf(
      '/* .no { */ .main, .a > .b { x: y } @media (a) { .button.main:hover { x: y } }',
    );
    expect([...own]).toEqual(['main']);
    expect([...variants]).toEqual(['main']);
    expect(sheets.length).toBeGreaterThan(10);
  });

  it('define each class in one file', () => {
    const found = Map.groupBy(
      sheets.flatMap(({ name, own }) => [...own].map((each) => [each, name] as const)),
      ([each]) => each,
    );
    expect([...found.values()].filter(({ length }) => length > 1)).toEqual([]);
  });

  it('define no class by itself that varies another one', () => {
    const own = new Set(sheets.flatMap((sheet) => [...sheet.own]));
    const both = sheets.flatMap(({ variants }) => [...variants].filter((each) => own.has(each)));
    expect(both.filter((each) => !TONES.includes(each))).toEqual([]);
  });
});
