import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { ConfigurationError } from './configuration-error.ts';
import type { Environment } from './read-settings.ts';

/**
 * The environment of a command: the variables of the process and, below them, those of the file `.env` in
 * `directory`. A variable that the process has, even an empty one, wins. Changes nothing in `process.env`.
 * @throws {ConfigurationError} when the file is there but cannot be read.
 */
export function readEnvironment(directory: string, processEnv: Environment): Environment {
  const file = join(directory, '.env');
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') {
      throw new ConfigurationError([
        {
          setting: '.env',
          problem: `found ${file}, but it cannot be read (${code}). Make it readable or remove it.`,
        },
      ]);
    }
  }
  return { ...parseEnv(text), ...processEnv };
}
