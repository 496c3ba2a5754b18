import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { refuseOldNode } from '../../src/runtime/node-version/node-version.mjs';
import { ROOT } from './root.ts';

/** A Node that is too old for this package, and the variables that it is started with. */
export interface OldNode {
  readonly node: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The version that such a Node reports. */
export const OLD_NODE_REFUSED =
  /^messaging-connector needs Node 22\.19 or newer, and this is Node [\d.]+ \(.*https:\/\/nodejs\.org\n$/;

/**
 * This Node, which pretends to be 20 and reads no TypeScript, and the ones of this machine that are really too old.
 */
export const OLD_NODES: readonly OldNode[] = [
  {
    node: process.execPath,
    env: {
      NODE_OPTIONS: `--no-experimental-strip-types --require ${join(import.meta.dirname, 'pretend-old-node.cjs')}`,
    },
  },
  ...findOldNodes().map((node) => ({ node, env: {} })),
];

function findOldNodes(): string[] {
  const folders = new Set((process.env['PATH'] ?? '').split(delimiter));
  folders.delete(join(ROOT, 'node_modules/.bin'));
  return [...folders].map((folder) => join(folder, 'node')).filter(isOldNode);
}

function isOldNode(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
  } catch {
    return false;
  }
  const { stdout } = spawnSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' });
  return /^\d+\.\d+\.\d+/.test(stdout) && refuseOldNode(stdout.trim()) !== undefined;
}
