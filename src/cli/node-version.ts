import { readFileSync } from 'node:fs';

/** The oldest Node that this package runs on, as `package.json` says it (`>=22.19`). */
export function oldestNode(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return (manifest as { engines: { node: string } }).engines.node.replace('>=', '');
}

/** What is wrong with a version of Node, and what to do; undefined where nothing is. */
export function refuseOldNode(version: string, oldest: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = oldest.split('.').map(Number);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined;
  return `messaging-connector needs Node ${oldest} or newer, and this is Node ${version} (${process.execPath}). Install a newer one: https://nodejs.org`;
}
