import { parseAst } from 'vitest/node';
import { TESTS as FOLDERS, readSources } from '../architecture/source-files.ts';

/** A test that names the sentences of the specification that it proves. */
export interface Citation {
  readonly id: string;
  /** Path of the test file from the root of the project. */
  readonly file: string;
  /** Names of the suites around the test and of the test itself. */
  readonly name: readonly string[];
  /** False for a test that is skipped, a todo, or runs only on a condition. */
  readonly runs: boolean;
}

/** What a test file cites, and where it does so in a way that cannot be read statically. */
export interface FileCitations {
  readonly citations: readonly Citation[];
  /** Places of `proves(…)` that is not among the first statements of a test, or has anything but literals in it. */
  readonly strays: readonly string[];
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [key: string]: unknown;
}

const SUITES = new Set(['describe', 'suite']);
const TESTS = new Set(['it', 'test']);
const NOT_ALWAYS_RUN = new Set(['skip', 'todo', 'skipIf', 'runIf', 'fails', 'only']);

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

function nodesIn(value: unknown): readonly Node[] {
  return [value].flat().filter(isNode);
}

/** `it.skip.each(rows)` as `['it', 'skip', 'each']`. */
function calleeNames(callee: unknown): readonly string[] {
  if (!isNode(callee)) return [];
  if (callee.type === 'Identifier') return [String(callee['name'])];
  if (callee.type === 'CallExpression') return calleeNames(callee['callee']);
  if (callee.type === 'TaggedTemplateExpression') return calleeNames(callee['tag']);
  if (callee.type !== 'MemberExpression') return [];
  return [...calleeNames(callee['object']), ...calleeNames(callee['property'])];
}

/** Text of a literal or a template; `…` stands for values known only at run time. Null for anything else. */
function textOf(node: unknown): string | null {
  if (!isNode(node)) return null;
  if (node.type === 'Literal') return typeof node['value'] === 'string' ? node['value'] : null;
  if (node.type !== 'TemplateLiteral') return null;
  const parts = nodesIn(node['quasis']).map(({ value }) => (value as { readonly cooked: string }).cooked);
  return parts.join('…');
}

/** Each `proves(…)` among the first statements of the function of a test. */
function findProofs(call: Node): readonly Node[] {
  const body = nodesIn(call['arguments']).flatMap((argument) => nodesIn(argument['body']))[0];
  const said = nodesIn(body?.['body']).map(({ expression }) => nodesIn(expression)[0]);
  const others = said.findIndex((each) => calleeNames(each?.['callee']).join() !== 'proves');
  return nodesIn(said.slice(0, others < 0 ? said.length : others));
}

/** Whether the options of a test let it run. */
function letsRun(call: Node): boolean {
  const names = nodesIn(call['arguments'])
    .flatMap(({ type, properties }) => (type === 'ObjectExpression' ? nodesIn(properties) : []))
    .flatMap(({ key }) => calleeNames(key));
  return !names.some((name) => NOT_ALWAYS_RUN.has(name));
}

/** Reads the citations of one test file from its text, without running it. */
export function readFileCitations(file: string, text: string): FileCitations {
  const citations: Citation[] = [];
  const strays: string[] = [];
  const followed = new Set<Node>();

  const cite = (call: Node, name: readonly string[], runs: boolean): void => {
    for (const proof of findProofs(call)) {
      const ids = nodesIn(proof['arguments']).map(textOf);
      if (ids.length === 0 || ids.includes(null)) continue;
      followed.add(proof);
      for (const id of ids) citations.push({ id: String(id), file, name, runs: runs && letsRun(call) });
    }
  };

  const visit = (node: Node, suites: readonly string[], runs: boolean): void => {
    let around = suites;
    let running = runs;
    if (node.type === 'CallExpression') {
      const [root = '', ...modifiers] = calleeNames(node['callee']);
      const title = textOf(nodesIn(node['arguments'])[0]);
      if ((SUITES.has(root) || TESTS.has(root)) && title !== null) {
        around = [...suites, title];
        running = runs && !modifiers.some((modifier) => NOT_ALWAYS_RUN.has(modifier));
        if (TESTS.has(root)) cite(node, around, running);
      }
      if (root === 'proves' && modifiers.length === 0 && !followed.has(node)) {
        strays.push(`${file}:${text.slice(0, node.start).split('\n').length}`);
      }
    }
    for (const value of Object.values(node)) {
      for (const child of nodesIn(value)) visit(child, around, running);
    }
  };

  for (const statement of parseAst(text, { lang: 'ts' }).body) visit(statement as unknown as Node, [], true);
  return { citations, strays };
}

/** Reads the citations of every file of the test run. */
export function readCitations(): FileCitations {
  const read = readSources(...FOLDERS)
    .filter(({ path, source }) => path.endsWith('.test.ts') && source.includes('proves('))
    .map(({ path, source }) => readFileCitations(path, source));
  return {
    citations: read.flatMap(({ citations }) => citations),
    strays: read.flatMap(({ strays }) => strays),
  };
}
