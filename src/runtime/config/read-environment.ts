import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { ConfigurationError } from './configuration-error.ts';
import type { Environment } from './read-settings.ts';

/**
 * The environment of a command: the variables of the process and, with lower priority, those of the file
 * `.env` in `directory`. A variable of the process takes precedence even if it is empty. Does not change
 * `process.env`.
 * @throws {ConfigurationError} if the file exists but cannot be read.
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
          problem: `found ${file}, but it cannot be read (${code}). Make it readable, or remove it.`,
        },
      ]);
    }
  }
  return { ...parseEnv(text), ...processEnv };
}
