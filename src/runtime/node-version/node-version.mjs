// Plain JavaScript, and nothing that an old Node lacks: this is what tells one that it is too old.
import { existsSync, readFileSync } from 'node:fs';

const ROOT = new URL('../../../', import.meta.url);

/**
 * The oldest Node that this package runs on, as `engines` of `package.json` says it (`>=22.19`).
 * @returns {string}
 */
export function oldestNode() {
  const manifest = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'));
  return manifest.engines.node.replace('>=', '');
}

/**
 * What is wrong with a version of Node, and what to do, in one line; undefined where nothing is.
 * @param {string} [version]
 * @param {string} [oldest]
 * @returns {string | undefined}
 */
export function refuseOldNode(version = process.versions.node, oldest = oldestNode()) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = oldest.split('.').map(Number);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined;
  // The package does not bring the workspace along.
  const own = existsSync(new URL('packages/node', ROOT))
    ? 'Run "npm ci", which brings one for npm\'s scripts and node_modules/.bin/node, or install one'
    : 'Install a newer one';
  return `messaging-connector needs Node ${oldest} or newer, and this is Node ${version} (${process.execPath}). ${own}: https://nodejs.org`;
}
