import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { REQUIREMENTS } from '../requirements.ts';
import { readProofs } from './run-report.ts';

// After a whole run with the JSON reporter: which rules did it really prove?
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { table: { type: 'boolean', default: false } },
});
const [path = '.data/test-report.json'] = positionals;
if (!existsSync(path)) {
  process.stderr.write(`There is no test report at ${path}. Run "CI=true npm test" first.\n`);
  process.exit(2);
}
const proofs = readProofs(JSON.parse(readFileSync(path, 'utf8')));
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
