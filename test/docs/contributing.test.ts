import { expect, it } from 'vitest';
import { ROOT } from '../support/root.ts';
import { spawnCommand } from '../support/spawn-command.ts';

it.each([
  ['mutants', 'test/mutants/run-mutants.ts'],
  ['proven', 'test/requirements/check-report.ts'],
])('npm run %s -- --help prints its usage', async (name, file) => {
  const { code, stdout, stderr } = await spawnCommand('node', [file, '--help'], { cwd: ROOT }).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(new RegExp(`^Usage: npm run ${name} `));
});
