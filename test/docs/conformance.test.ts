import { describe, expect, it } from 'vitest';
import { SERVICE_COMMAND } from '../../src/commands/conformance-options.ts';
import { selectChecks } from '../../src/conformance/service/run-service-suite.ts';
import { readBlocks, readProjectFile } from '../support/markdown.ts';
import { ROOT } from '../support/root.ts';
import { spawnCommand } from '../support/spawn-command.ts';

const PAGE = readProjectFile('docs/conformance.md');

describe('docs/conformance.md', () => {
  it('holds commands that run', async () => {
    const blocks = readBlocks(PAGE).filter(({ language }) => language === 'sh');
    expect(blocks.map(({ text }) => text)).toEqual(['npm run conformance -- service --help']);
    const { code, stdout } = await spawnCommand('sh', ['-c', String(blocks[0]?.text)], { cwd: ROOT }).ended;
    expect(code).toBe(0);
    for (const option of Object.keys(SERVICE_COMMAND.options)) expect(stdout).toContain(`--${option}`);
  });

  it('names options that there are', () => {
    const named = [...PAGE.matchAll(/--([a-z][a-z-]+)/g)].map(([, name = '']) => name);
    const known = [...Object.keys(SERVICE_COMMAND.options), 'help'];
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
    expect(named.length).toBeGreaterThan(15);
  });

  it('shows findings of checks that there are, by their own words', () => {
    const shown = [...PAGE.matchAll(/^[✗≠] (\S+) {2}.*: (.+)\n {2}(.+)$/gm)];
    expect(shown).toHaveLength(2);
    for (const [, id = '', section, rule] of shown) {
      expect(selectChecks([id])[0]).toMatchObject({ id, section, rule });
    }
  });
});
