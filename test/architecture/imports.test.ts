import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/root.ts';
import {
  FOLDERS,
  findCycle,
  findFolderCycle,
  findImports,
  findMutualFolders,
  type Import,
  judgeImport,
  PACKAGE_INDEX,
  reachableFrom,
} from './import-rules.ts';
import { readSources, SOURCES } from './source-files.ts';
import { splitSource } from './source-parts.ts';

const files = readSources(...SOURCES);
const imports = files.flatMap(findImports);

function parse(path: string, source: string): Import[] {
  return findImports({ path, source, ...splitSource(source) });
}

describe('the folders of src', () => {
  it('are the ones in the import rules', () => {
    const unknown = readdirSync(join(ROOT, 'src')).filter(
      (name) => FOLDERS[name] === undefined && `src/${name}` !== PACKAGE_INDEX,
    );
    expect(unknown, 'add a folder to the architecture before using it').toEqual([]);
  });

  it('import only what they may', () => {
    const wrong = imports.flatMap((found) => {
      const reason = judgeImport(found);
      return reason === undefined
        ? []
        : [`${found.from}:${found.line} imports '${found.specifier}': ${reason}`];
    });
    expect(wrong).toEqual([]);
  });

  it('contain observers of the connector, which what they observe never imports', () => {
    const observer = /^src\/connector\/(?:doctor|replay|state|trace)\//;
    const shows = /^src\/connector\/(?:api\/|connector\.ts$)/;
    const ofObservers = imports.filter(
      ({ from, target = '' }) => from.startsWith('src/connector/') && observer.test(target),
    );
    const wrong = ofObservers.filter(({ from }) => !observer.test(from) && !shows.test(from));
    expect(wrong.map(({ from, line, specifier }) => `${from}:${line} ${specifier}`)).toEqual([]);
    expect(ofObservers.length).toBeGreaterThan(20);
  });

  it('import files that exist, by their full names', () => {
    const known = new Set(files.map(({ path }) => path));
    const isData = (target: string): boolean =>
      /\.(?:css|json)$/.test(target) && existsSync(join(ROOT, target));
    const missing = imports.filter(
      ({ target }) => target !== undefined && !known.has(target) && !isData(target),
    );
    expect(missing.map(({ from, line, specifier }) => `${from}:${line} ${specifier}`)).toEqual([]);
  });

  it('have no import cycle', () => {
    expect(findCycle(imports)?.join(' → ')).toBeUndefined();
  });

  it('reach nothing of the service from the package index', () => {
    const reached = [...reachableFrom(PACKAGE_INDEX, imports)];
    const service = reached.filter((file) => /^(?:packages|src\/(?:platform|sandbox))\//.test(file));
    expect(service).toEqual([]);
    expect(reached).toContain('src/connector/connector.ts');
  });

  it('never import each other', () => {
    expect(findMutualFolders(imports)).toEqual([]);
  });

  it.each(['platform', 'sandbox', 'runtime'])('have no cycle of folders in %s', (part) => {
    const inside = imports.filter(({ from }) => from.startsWith(`src/${part}/`));
    expect(inside.length).toBeGreaterThan(50);
    expect(findFolderCycle(inside)?.join(' → ')).toBeUndefined();
  });

  it('reach the phone network only through its port, which the composition root creates', () => {
    const inside = imports.filter(({ target }) => target?.startsWith('src/platform/network/'));
    expect(inside.length).toBeGreaterThan(20);
    const past = inside.filter(
      ({ from, target }) =>
        /^src\/platform\/(?!network\/)[^/]+\//.test(from) && target !== 'src/platform/network/network.ts',
    );
    expect(past.map(({ from, line, specifier }) => `${from}:${line} ${specifier}`)).toEqual([]);
  });

  it('are parsed: there are imports of every kind', () => {
    expect(imports.length).toBeGreaterThan(100);
    expect(imports.some(({ specifier }) => specifier.startsWith('node:'))).toBe(true);
    expect(imports.some(({ target }) => target?.startsWith('src/contract/'))).toBe(true);
  });
});

describe('the rule about imports', () => {
  it('finds imports of every form, and none in comments and strings', () => {
    const source = [
      "import { a } from './a.ts';",
      "import type { b } from './b.ts';",
      "export * from './c.ts';",
      "import './d.ts';",
      "const e = await import('./e.ts');",
      'import {',
      '  f,',
      "} from './f.ts';",
      "// import './comment.ts'",
      "/* import './block.ts' */",
      'const text = "import \'./text.ts\'";',
      `const template = \`from './template.ts' \${import('./g.ts')}\`;`,
      "const g: import('./h.ts').H = 1;",
    ].join('\n');
    const found = parse('src/commands/x.ts', source).map(({ specifier }) => specifier);
    expect(found).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => `./${name}.ts`));
  });

  it('finds folders that import each other, also files next to folders, and cycles of folders', () => {
    const files = [
      ...parse('src/runtime/a/x.ts', "import '../b/y.ts'"),
      ...parse('src/runtime/b/z.ts', "import type { T } from '../c.ts'"),
      ...parse('src/runtime/c.ts', "import './a/x.ts'"),
    ];
    expect(findMutualFolders(files)).toEqual([]);
    expect(findFolderCycle(files)).toEqual(['runtime/a', 'runtime/b', 'runtime', 'runtime/a']);
    const back = parse('src/runtime/c.ts', "import './b/y.ts'");
    expect(findMutualFolders([...files, ...back])).toEqual(['runtime ⇄ runtime/b']);
    const elsewhere = parse('src/sandbox/b/z.ts', "import '../../runtime/b/y.ts'");
    expect(
      findMutualFolders([...elsewhere, ...parse('src/runtime/b/y.ts', "import '../../sandbox/b/z.ts'")]),
    ).toEqual([]);
  });

  it('finds a cycle and its path', () => {
    const chain = [
      ...parse('src/commands/a.ts', "import './b.ts'"),
      ...parse('src/commands/b.ts', "import './c.ts'"),
      ...parse('src/commands/c.ts', "import './b.ts'"),
    ];
    expect(findCycle(chain)).toEqual(['src/commands/b.ts', 'src/commands/c.ts', 'src/commands/b.ts']);
    expect(findCycle(chain.slice(0, 2))).toBeUndefined();
  });
});
