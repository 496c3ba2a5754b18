import { expect, it } from 'vitest';
import { oldestNode, refuseOldNode } from '../../src/cli/node-version.ts';

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
