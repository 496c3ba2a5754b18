// Plain JavaScript that an old Node can run, because it reports that the Node is too old.
import { existsSync, readFileSync } from 'node:fs';

const ROOT = new URL('../../../', import.meta.url);

/** @returns {{ name: string, engines: { node: string } }} */
const manifest = () => JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'));

/**
 * The oldest Node that this package runs on, from `engines` in `package.json` (`>=22.19`).
 * @returns {string}
 */
export function oldestNode() {
  return manifest().engines.node.replace('>=', '');
}

/**
 * One line that states that this version of Node is too old, and what to do; undefined if it is new enough.
 * @param {string} [version]
 * @param {string} [oldest]
 * @returns {string | undefined}
 */
export function refuseOldNode(version = process.versions.node, oldest = oldestNode()) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = oldest.split('.').map(Number);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined;
  // The npm package does not contain the workspace.
  const own = existsSync(new URL('packages/node', ROOT))
    ? 'Run "npm ci", which installs one for npm scripts and as node_modules/.bin/node, or install one yourself'
    : 'Install a newer version';
  return `${manifest().name} needs Node ${oldest} or newer, and this is Node ${version} (${process.execPath}). ${own}: https://nodejs.org`;
}
