import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { REQUIREMENTS } from '../requirements.ts';
import { readProofs } from './run-report.ts';

// After runs with the JSON reporter, of the tests and of the campaigns: which rules did they really prove?
const { values } = parseArgs({ options: { table: { type: 'boolean', default: false } } });
const reports = ['.data/test-report.json', '.data/campaign-report.json'].filter((path) => existsSync(path));
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
