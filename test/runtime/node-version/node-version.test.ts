import { join } from 'node:path';
import { expect, it } from 'vitest';
import { COMMANDS } from '../../../src/commands/commands.ts';
import { oldestNode, refuseOldNode } from '../../../src/runtime/node-version/node-version.mjs';
import { OLD_NODE_REFUSED, OLD_NODES } from '../../support/old-node.ts';
import { ROOT } from '../../support/root.ts';
import { spawnCommand } from '../../support/spawn-command.ts';

it.each([
  ['22.19.0', true],
  ['22.20.1', true],
  ['24.0.0', true],
  ['100.1.0', true],
  ['22.18.9', false],
  ['22.2.0', false],
  ['20.20.2', false],
  ['9.99.0', false],
])('Node %s is new enough for 22.19: %s', (version, isNewEnough) => {
  expect(refuseOldNode(version, '22.19') === undefined).toBe(isNewEnough);
});

it('names both versions', () => {
  expect(refuseOldNode('20.20.2', '22.19')).toContain('needs Node 22.19 or newer, and this is Node 20.20.2');
});

it('is read from the manifest, and this Node is new enough', () => {
  expect(oldestNode()).toMatch(/^\d+\.\d+$/);
  expect(refuseOldNode(process.versions.node, oldestNode())).toBeUndefined();
});

it.each(Object.keys(COMMANDS))(
  'an old Node that runs src/cli/%s.ts reports its version in one line, and exits with 1',
  async (name) => {
    for (const { node, env } of OLD_NODES) {
      const ended = await spawnCommand(node, [join(ROOT, `src/cli/${name}.ts`)], { env }).ended;
      expect(ended).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(OLD_NODE_REFUSED) });
    }
  },
);
