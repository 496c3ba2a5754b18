import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { REQUIREMENTS } from '../requirements.ts';
import { readProofs } from './run-report.ts';

const HELP = `Usage: npm run proven -- [options]

Counts the rules of the specification that a passing test has proven, and names the others. Reads the reports of
"CI=true npm test" and of the documents in .data, not those of the campaigns, which are not all in each run. Exits with 1 if a rule is not proven.

  --table         each rule and the tests that prove it
  --help          this text
`;

const { values } = parseArgs({
  options: { table: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit();
}
const reports = ['test', 'docs']
  .map((name) => `.data/${name}-report.json`)
  .filter((path) => existsSync(path));
if (reports.length === 0) {
  process.stderr.write('There is no test report in .data. Run "CI=true npm test" first.\n');
  process.exit(2);
}
const proofs = readProofs(reports.map((path) => JSON.parse(readFileSync(path, 'utf8'))));
const toProve = REQUIREMENTS.filter(({ kind }) => kind === 'proven');
const unproven = toProve.filter(({ id }) => !proofs.has(id));
if (values.table) {
  for (const { id, rule } of toProve) {
    process.stdout.write(`${id}\n  ${rule}\n`);
    for (const { file, name } of proofs.get(id) ?? []) process.stdout.write(`  - ${file}: ${name}\n`);
  }
}
process.stdout.write(
  `${toProve.length - unproven.length} of ${toProve.length} rules proven by tests that passed\n`,
);
for (const { id } of unproven) process.stdout.write(`not proven: ${id}\n`);
process.exitCode = unproven.length === 0 ? 0 : 1;
