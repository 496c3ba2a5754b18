import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeScenario } from '../../src/scenario/scenario.ts';
import { makeFolder } from '../support/make-folder.ts';
import { ROOT } from '../support/root.ts';
import { spawnCommand } from '../support/spawn-command.ts';

const RESET = { cause: 1, at: 0, surface: 'sandbox', method: 'POST', path: '/reset' } as const;

it.each([
  ['a file without causes', [], ['replay'], 'has no causes'],
  ['a file without causes', [], ['shrink'], 'has no causes'],
  ['an option of the other action', [RESET], ['shrink', '--json'], '--json is not an option of shrink'],
  [
    'a report that cannot be written',
    [RESET],
    ['replay', '--junit', 'no/a.xml'],
    'no/a.xml cannot be written',
  ],
  [
    'a result that cannot be written',
    [RESET],
    ['shrink', '--out', 'no/a.jsonl'],
    'no/a.jsonl cannot be written',
  ],
  ['an address without a scheme', [RESET], ['replay', '--url', 'localhost:1'], 'not "localhost:1"'],
] as const)('refuses %s, and exits with 2', async (_, causes, [action, ...more], reason) => {
  const file = join(makeFolder(), 'empty.jsonl');
  const at = '2026-01-15T12:00:00.000Z';
  writeFileSync(
    file,
    writeScenario({
      scenario: 1,
      startedAt: at,
      endedAt: at,
      frozen: false,
      sendScale: 0,
      connector: true,
      complete: true,
      names: {},
      causes,
      observations: [],
    }),
  );
  const words = [join(ROOT, 'src/cli/scenario.ts'), action, file, ...more];
  const { code, stdout, stderr } = await spawnCommand('node', words).ended;
  expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(reason)]);
});
