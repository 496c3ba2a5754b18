import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeScenario } from '../../src/scenario/scenario.ts';
import { ROOT } from '../support/root.ts';
import { spawnCommand } from '../support/spawn-command.ts';

it.each(['replay', 'shrink'])('%s refuses a file without causes, and exits with 2', async (action) => {
  const folder = mkdtempSync(join(tmpdir(), 'scenario-'));
  const file = join(folder, 'empty.jsonl');
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
      causes: [],
      observations: [],
    }),
  );
  const words = [join(ROOT, 'src/cli/scenario.ts'), action, file];
  const { code, stdout, stderr } = await spawnCommand('node', words).ended;
  rmSync(folder, { recursive: true });
  expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining('has no causes')]);
});
