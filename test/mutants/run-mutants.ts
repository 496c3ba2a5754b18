import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { readEnded } from '../requirements/run-report.ts';
import { readCitations } from '../support/citations.ts';
import { projectsOf } from '../support/projects.ts';
import { ROOT } from '../support/root.ts';
import { chooseScratchFolder } from '../support/scratch-folder.ts';
import { CONNECTOR_MUTANTS } from './connector-mutants.ts';
import { findMutant, findTest, type Mutant, type NamedTest } from './find-mutant.ts';
import { MUTANTS } from './mutants.ts';

const NOT_COPIED = new Set(['node_modules', '.git', '.data', 'dist']);
/** The faster ones first: if one fails, the others need not run. Campaigns take too long. */
const PROJECTS = ['unit', 'service', 'process'];

/** Tests of a broken rule mostly wait, so several can run at once even on a small machine. */
const AT_ONCE = 3;

/** A broken rule often shows as a wait that never ends. */
const TIMEOUT = '--testTimeout=30000';

const ALL: readonly Mutant[] = [...MUTANTS, ...CONNECTOR_MUTANTS];

const HELP = `Usage: npm run mutants -- [options] [rule ...]

Breaks one rule at a time in a copy of the project, and expects a test to fail: one that cites the rule, or, for a
rule of the connector's own, the one that the table names. Breaks every rule of the tables, unless ids are given: then
the rules with these ids, or whose ids begin like this. Exits with 1 if a broken rule goes unnoticed.

  --sample N      break N rules
  --seed TEXT     choose the same rules for the same text
  --help          this text
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string' },
    seed: { type: 'string', default: '' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit();
}

function draw(mutant: Mutant): string {
  return createHash('sha256').update(`${values.seed} ${mutant.rule} ${mutant.find}`).digest('hex');
}

function choose(): readonly Mutant[] {
  if (positionals.length > 0)
    return ALL.filter(({ rule }) => positionals.some((word) => rule === word || rule.startsWith(`${word}.`)));
  if (values.sample === undefined) return ALL;
  return ALL.toSorted((a, b) => (draw(a) < draw(b) ? -1 : 1)).slice(0, Number(values.sample));
}

/** A pattern for a test name, whatever values a run fills in. */
function toPattern(names: readonly string[]): string {
  return names
    .map((name) => name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replace(/…|%\w|\\\$\w+/g, '.*'))
    .join('|');
}

/** The tests that should fail, by file and by a part of their names. */
function testsFor(mutant: Mutant): readonly NamedTest[] {
  const { rule, test } = mutant;
  if (test !== undefined) return [findTest(mutant)];
  return citations
    .filter(({ id }) => id === rule)
    .map(({ file, name }) => ({ file, name: name.at(-1) ?? '' }));
}

/** Runs some tests of one project in the copy. Resolves with the name of one of them that failed. */
async function findFailing(
  copy: string,
  mutant: Mutant,
  tests: readonly NamedTest[],
  options: readonly string[] = ['--bail=1'],
): Promise<string | undefined> {
  const { rule } = mutant;
  const report = join(copy, '.data/mutant-report.json');
  rmSync(report, { force: true });
  const files = [...new Set(tests.map(({ file }) => file))];
  const pattern = toPattern(tests.map(({ name }) => name));
  const words = ['run', ...options, '--reporter=json', `--outputFile=${report}`, TIMEOUT, '-t', pattern];
  const run = spawn(join(copy, 'node_modules/.bin/vitest'), [...words, ...files], {
    cwd: copy,
    stdio: 'ignore',
  });
  const [code] = await once(run, 'exit');
  const reports: unknown[] = [JSON.parse(readFileSync(report, 'utf8'))];
  const failed = readEnded(reports, 'failed');
  // A test that fails before it begins has cited nothing yet, but only those of these names have run.
  const [caught] = failed;
  // `--bail` can end a worker before the result of the test that failed has arrived.
  if (caught === undefined && code !== 0 && options.length > 0)
    return await findFailing(copy, mutant, tests, []);
  if (failed.length + readEnded(reports, 'passed').length === 0)
    throw new Error(
      `No test ran for ${rule}. Run "npx vitest ${words.join(' ')} ${files.join(' ')}" in a copy.`,
    );
  return caught?.name;
}

async function catchMutant(copy: string, mutant: Mutant): Promise<string | undefined> {
  const { path, source, broken } = findMutant(mutant);
  const tests = testsFor(mutant);
  writeFileSync(join(copy, path), broken);
  try {
    for (const project of PROJECTS) {
      const its = tests.filter(({ file }) => projectsOf(file).includes(project));
      const name = its.length === 0 ? undefined : await findFailing(copy, mutant, its);
      if (name !== undefined) return name;
    }
    return undefined;
  } finally {
    writeFileSync(join(copy, path), source);
  }
}

const { citations } = readCitations();
const chosen = choose();
// All of them first: a missing text fails at once, not after minutes.
for (const mutant of ALL) findMutant(mutant);
const folder = mkdtempSync(join(await chooseScratchFolder(), 'messaging-connector-mutants-'));
const waiting = [...chosen];
let unnoticed = 0;

/** Breaks one rule after the other in a copy of its own. */
async function breakInCopy(copy: string): Promise<void> {
  cpSync(ROOT, copy, { recursive: true, filter: (path) => !NOT_COPIED.has(basename(path)) });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
    const name = await catchMutant(copy, mutant);
    if (name === undefined) unnoticed += 1;
    process.stdout.write(
      `${name === undefined ? 'UNNOTICED' : 'caught'}  ${mutant.rule}: ${name ?? mutant.find}\n`,
    );
  }
}

try {
  const copies = Array.from({ length: AT_ONCE }, (_, index) => join(folder, `copy-${index + 1}`));
  await Promise.all(copies.map(breakInCopy));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.stdout.write(`${chosen.length - unnoticed} of ${chosen.length} broken rules were caught\n`);
process.exitCode = unnoticed === 0 && chosen.length > 0 ? 0 : 1;
