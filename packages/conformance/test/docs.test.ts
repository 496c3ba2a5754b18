import { describe, expect, it } from 'vitest';
import { makeDataFolder } from '../../../test/support/data-folder.ts';
import { createTestDatabase } from '../../../test/support/database.ts';
import { findFreePort, findPortBase } from '../../../test/support/find-free-port.ts';
import { readBlocks, readProjectFile } from '../../../test/support/markdown.ts';
import { ROOT } from '../../../test/support/root.ts';
import { spawnCommand } from '../../../test/support/spawn-command.ts';
import { SERVICE_COMMAND } from '../src/options.ts';
import { selectChecks } from '../src/run-service-suite.ts';

const PAGE = readProjectFile('docs/conformance.md');
const SLOW_MS = 180_000;
const [help, start, prepare, grade, ...others] = readBlocks(PAGE)
  .filter(({ language }) => language === 'sh')
  .map(({ text }) => text);

describe('docs/conformance.md', () => {
  it('begins with the options', async () => {
    expect(help).toBe('npm run conformance -- service --help');
    const { code, stdout } = await spawnCommand('sh', ['-c', String(help)], { cwd: ROOT }).ended;
    expect(code).toBe(0);
    for (const option of Object.keys(SERVICE_COMMAND.options)) expect(stdout).toContain(`--${option}`);
  });

  it('names only options that exist', () => {
    const named = [...PAGE.matchAll(/--([a-z][a-z-]+)/g)].map(([, name = '']) => name);
    const known = [
      ...Object.keys(SERVICE_COMMAND.options),
      'help',
      'data-dir',
      'field',
      'no-install',
      'times',
      'workspace',
    ];
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
    expect(named.length).toBeGreaterThan(15);
  });

  it('shows findings as existing checks word them', () => {
    const shown = [...PAGE.matchAll(/^(?:FAIL|DIFFERS) {2}(\S+) {2}.*: (.+)\n {2}(.+)$/gm)];
    expect(shown).toHaveLength(2);
    for (const [, id = '', section, rule] of shown) {
      expect(selectChecks([id])[0]).toMatchObject({ id, section, rule });
    }
  });

  it(
    'grades the platform of this repository with the commands that it shows: nothing is violated',
    async () => {
      const [base, listen, folder, database] = await Promise.all([
        findPortBase(),
        findFreePort(),
        makeDataFolder(),
        createTestDatabase({ connector: true, platform: true }),
      ]);
      expect(others).toEqual([]);
      expect(start).toBe('npm run platform -- --data-dir .data/graded');
      const words = ['run', 'platform', '--', '--port-base', String(base), '--data-dir', folder.path];
      const platform = spawnCommand('npm', words, {
        cwd: ROOT,
        env: { PLATFORM_DATABASE_URL: database.url },
      });
      await platform.said(/^service /);
      const script = `${prepare}\n${grade}`
        .replaceAll('curl -s ', 'curl -s --fail-with-body ')
        .replace(/127\.0\.0\.1:40(\d\d)/g, (_, offset: string) => `127.0.0.1:${base + Number(offset)}`)
        .replaceAll('3999', String(listen));
      const graded = await spawnCommand('sh', ['-e', '-c', script], {
        cwd: ROOT,
        env: { SANDBOX_URL: `http://127.0.0.1:${base}` },
      }).ended;
      await platform.kill();
      await folder.remove();
      await database.drop();
      const said = `${graded.stdout}\n${graded.stderr}`;
      expect(said).toMatch(/^(\d+) of \1 checks kept, \d+ of 226 not checked\.$/m);
      expect(graded.code, said).toBe(0);
      // Only an outage, a slow receiver, a second narrow key and a lifetime that is not returned are left.
      expect(Number(/(\d+) of 226 not checked\.$/m.exec(said)?.[1])).toBeLessThanOrEqual(5);
    },
    SLOW_MS,
  );
});
