import { posix } from 'node:path';
import { lineAt } from './source-parts.ts';

/** An import of a file, possibly of types. */
export interface Import {
  readonly from: string;
  readonly line: number;
  readonly specifier: string;
  /** The path of the imported file, if it belongs to the project. */
  readonly target: string | undefined;
}

/** A folder of `src/` or a package: the folders, files and packages that it may import besides itself. */
export interface FolderRule {
  readonly folders: readonly string[];
  /** Undefined: all. */
  readonly packages?: RegExp;
  /** Its files import no other file. */
  readonly alone?: true;
}

/** What the packages that are commands use of `src`. */
const OF_TOOLS = ['runtime', 'src/commands/command-line.ts'];

/** Which folder may import which. */
export const FOLDERS: Readonly<Record<string, FolderRule>> = {
  contract: { folders: [], packages: /^zod(?:\/mini)?$/ },
  patterns: { folders: [], packages: /^node:/, alone: true },
  runtime: { folders: [] },
  connector: { folders: ['contract', 'patterns', 'runtime'] },
  platform: { folders: ['contract', 'runtime'] },
  sandbox: { folders: ['platform', 'console-host', 'contract', 'runtime'] },
  scenario: { folders: ['contract', 'runtime'] },
  client: { folders: ['contract', 'runtime'], packages: /^zod$/ },
  'console-host': { folders: ['contract', 'runtime'] },
  cli: { folders: ['commands', 'runtime'], packages: /^$/ },
  testing: {
    folders: ['client', 'commands', 'connector', 'contract', 'runtime', 'scenario'],
    packages: /^(?:node:|postgres$|zod$)/,
  },
  commands: {
    folders: [
      'client',
      'contract',
      'patterns',
      'runtime',
      'connector',
      'platform',
      'sandbox',
      'scenario',
      'console-host',
    ],
  },
  // No folder of `src` may import a package.
  'packages/certify': {
    folders: [...OF_TOOLS, 'src/sandbox/deliveries/sign-wrongly.ts'],
    packages: /^(?:node:|(?:postgres|zod)$)/,
  },
  // Browser code. It imports only types and `contract/console` of the contract: a test checks the build.
  'packages/console': {
    folders: ['contract'],
    packages: /^(?:react|react-dom|lucide-react|@tanstack|zod)(?:\/|$)/,
  },
  // n8n installs it without dependencies; of n8n it imports types.
  'packages/n8n': { folders: [], packages: /^(?:node:(?:crypto|http)|n8n-workflow)$/ },
  'packages/conformance': { folders: [...OF_TOOLS, 'packages/certify'], packages: /^(?:node:|zod$)/ },
};

/** The entry point of the package. It only re-exports. */
export const PACKAGE_INDEX = 'src/index.ts';
const PACKAGE_INDEX_RULE: FolderRule = {
  folders: ['commands', 'connector', 'contract', 'runtime'],
  packages: /^$/,
};

const KEYWORD = /\b(?:from|import)\s*(?:\(\s*)?$/;

/** The imports of a file: static, dynamic, of types and of re-exports. */
export function findImports(file: {
  readonly path: string;
  readonly source: string;
  readonly code: string;
  readonly texts: readonly { readonly text: string; readonly at: number }[];
}): Import[] {
  return file.texts
    .filter(({ at }) => KEYWORD.test(file.code.slice(Math.max(0, at - 40), at)))
    .map(({ text, at }) => ({
      from: file.path,
      line: lineAt(file.source, at),
      specifier: text,
      target: text.startsWith('.') ? posix.join(posix.dirname(file.path), text) : undefined,
    }));
}

/** A folder of `src`, or a package, and the path in it. */
function split(path: string): { readonly folder?: string; readonly rest: string } {
  const [, inSrc, inPackages, rest = ''] = /^(?:src\/([^/]+)|(packages\/[^/]+)\/src)\/(.+)$/.exec(path) ?? [];
  const folder = inSrc ?? inPackages;
  return folder === undefined ? { rest } : { folder, rest };
}

const folderOf = (path: string): string | undefined => split(path).folder;

/** Why an import is not allowed; undefined when it is. */
export function judgeImport(found: Import): string | undefined {
  const isIndex = found.from === PACKAGE_INDEX;
  const from = isIndex ? 'index.ts' : folderOf(found.from);
  const rule = isIndex ? PACKAGE_INDEX_RULE : FOLDERS[from ?? ''];
  if (from === undefined || rule === undefined) return `src/${from ?? ''} is no folder of the architecture`;
  if (found.target === undefined) {
    const allowed = rule.packages === undefined || rule.packages.test(found.specifier);
    return allowed ? undefined : `${from} may not import the package ${found.specifier}`;
  }
  const to = folderOf(found.target);
  if (to === undefined) return `${found.target} lies outside src`;
  if (to === from) return rule.alone === true ? `each file of ${from} stands alone` : undefined;
  const allowed = rule.folders.includes(to) || rule.folders.includes(found.target);
  return allowed ? undefined : `${from} may not import ${to}`;
}

/** The first import cycle, as its files in order; undefined if there is none. */
export function findCycle(imports: readonly Import[]): string[] | undefined {
  const next = new Map<string, string[]>();
  for (const { from, target } of imports) {
    if (target !== undefined) next.set(from, [...(next.get(from) ?? []), target]);
  }
  const done = new Set<string>();
  const visit = (file: string, way: readonly string[]): string[] | undefined => {
    const before = way.indexOf(file);
    if (before !== -1) return [...way.slice(before), file];
    if (done.has(file)) return undefined;
    for (const target of next.get(file) ?? []) {
      const cycle = visit(target, [...way, file]);
      if (cycle !== undefined) return cycle;
    }
    done.add(file);
    return undefined;
  };
  for (const file of next.keys()) {
    const cycle = visit(file, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

/** The folder of a file inside its part of `src`; files directly in the part count as a folder. */
function insideOf(path: string): string | undefined {
  const { folder, rest } = split(path);
  const [inner, ...more] = rest.split('/');
  return folder === undefined || more.length === 0 ? folder : `${folder}/${inner}`;
}

/** Imports between the folders of one part of `src`, as if each folder were a file. */
function betweenFolders(imports: readonly Import[]): Import[] {
  return imports.flatMap((found) => {
    const from = insideOf(found.from);
    const target = insideOf(found.target ?? '');
    const isInside =
      from !== undefined && target !== undefined && folderOf(found.from) === folderOf(found.target ?? '');
    return isInside && from !== target ? [{ ...found, from, target }] : [];
  });
}

/** Pairs of folders of one part that import each other, as `a ⇄ b`. */
export function findMutualFolders(imports: readonly Import[]): string[] {
  const arrows = new Set(betweenFolders(imports).map(({ from, target }) => `${from} ${target}`));
  return [...arrows]
    .map((arrow) => arrow.split(' ') as [string, string])
    .filter(([from, to]) => from < to && arrows.has(`${to} ${from}`))
    .map(([from, to]) => `${from} ⇄ ${to}`)
    .sort();
}

/** The first cycle of folders inside one part, of any length; undefined if there is none. */
export function findFolderCycle(imports: readonly Import[]): string[] | undefined {
  return findCycle(betweenFolders(imports));
}

/** The files that importing `start` can ever load, directly or through others, dynamic imports included. */
export function reachableFrom(start: string, imports: readonly Import[]): Set<string> {
  const reached = new Set([start]);
  // Iterating a set includes what is added meanwhile.
  for (const file of reached) {
    for (const { from, target } of imports) if (from === file && target !== undefined) reached.add(target);
  }
  return reached;
}
