import { readFileSync } from 'node:fs';
import { REQUIREMENTS } from '../requirements.ts';
import { findUnproven } from './run-report.ts';

// After a whole run with the JSON reporter: which sentences did it really prove?
const [, , path = '.data/test-report.json'] = process.argv;
const unproven = findUnproven(JSON.parse(readFileSync(path, 'utf8')));
const all = REQUIREMENTS.filter(({ kind }) => kind === 'proven').length;
process.stdout.write(`${all - unproven.length} of ${all} sentences proven by tests that passed\n`);
for (const id of unproven) process.stdout.write(`not proven: ${id}\n`);
process.exitCode = unproven.length === 0 ? 0 : 1;
