// Reads the JSON reports of vitest.
// reports.mjs files REPORT          the files in which something failed
// reports.mjs failures REPORT       what failed, with the first lines of what it said
// reports.mjs counts REPORT         numbers of tests: passed, failed, skipped
// reports.mjs skipped REPORT      what was skipped; a title says why
// reports.mjs merge REPORT AGAIN    puts the results of a second run into the first; names what only failed at first
import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';

const [command, ...paths] = process.argv.slice(2);
const [report, again] = paths.map((path) => JSON.parse(readFileSync(path, 'utf8')));
const named = (file) => relative('.', file.name);
const failedOf = (file) => file.assertionResults.filter((test) => test.status === 'failed');
const failed = report.testResults.filter((file) => file.status === 'failed');

const commands = {
  files: () => failed.map(named),
  failures: () =>
    failed.flatMap((file) => {
      if (failedOf(file).length === 0) return [`file: ${named(file)}`, `    ${file.message}`];
      return failedOf(file).flatMap((test) => [
        `test: ${named(file)} > ${test.fullName}`,
        ...test.failureMessages
          .join('\n')
          .split('\n')
          .slice(0, 5)
          .map((line) => `    ${line}`),
      ]);
    }),
  counts: () => [`${report.numPassedTests} ${report.numFailedTests} ${report.numPendingTests}`],
  skipped: () =>
    report.testResults.flatMap((file) =>
      file.assertionResults.filter(({ status }) => status === 'skipped').map(({ fullName }) => fullName),
    ),
  merge() {
    const second = new Map(again.testResults.map((file) => [file.name, file]));
    const names = (files) =>
      files.flatMap((file) => failedOf(file).map((test) => `${named(file)} > ${test.fullName}`));
    const still = new Set(names(again.testResults));
    const unsteady = names(failed)
      .filter((name) => !still.has(name))
      .map((name) => `unsteady: ${name}`);
    report.testResults = report.testResults.map((file) => second.get(file.name) ?? file);
    const tests = report.testResults.flatMap((file) => file.assertionResults);
    report.numPassedTests = tests.filter((test) => test.status === 'passed').length;
    report.numFailedTests = tests.filter((test) => test.status === 'failed').length;
    report.success = report.testResults.every((file) => file.status === 'passed');
    writeFileSync(paths[0], JSON.stringify(report));
    return unsteady;
  },
};

const lines = commands[command]();
if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
