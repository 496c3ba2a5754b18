import { randomBytes, randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { generateSealingKey, SealingError } from '../runtime/sealing/key-ring.ts';

/** Secrets of a connector on this machine, generated once and reused at each start. */
export interface LocalSecrets {
  readonly connectorToken: string;
  readonly sealingKey: string;
}

/**
 * Reads the secrets from a file, or generates them. Only its owner can read the file.
 * @throws Error naming the file if it exists but was not written by this function.
 */
export function readLocalSecrets(file: string): LocalSecrets {
  const stored = readIfPresent(file);
  if (stored !== undefined) return parse(stored, file);
  const secrets = { connectorToken: randomBytes(24).toString('base64url'), sealingKey: generateSealingKey() };
  mkdirSync(dirname(file), { recursive: true });
  // Processes in containers that share the folder have the same id.
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  try {
    // Unlike a rename, it replaces no file of a start that was faster, whose key would be lost.
    linkSync(draft, file);
    return secrets;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return readLocalSecrets(file);
    // Not every file system has links.
    renameSync(draft, file);
    return secrets;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** For a start whose key is in `file`: says that the key is another one than that of the stored secrets. */
export function explainLostKey(error: unknown, file: string): unknown {
  if (!(error instanceof SealingError) || error.code !== 'unknown_key') return error;
  return new Error(
    `The database contains secrets that were sealed with another key than the one in ${file}. Start with the folder ` +
      'of the earlier start (--data-dir), restore its secrets.json, or use an empty database.',
    { cause: error },
  );
}

function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function parse(text: string, file: string): LocalSecrets {
  let value: Partial<LocalSecrets> = {};
  try {
    value = JSON.parse(text) as Partial<LocalSecrets>;
  } catch {
    // Reported below, together with a file that is valid JSON but incomplete.
  }
  const { connectorToken, sealingKey } = value;
  if (typeof connectorToken === 'string' && typeof sealingKey === 'string')
    return { connectorToken, sealingKey };
  throw new Error(
    `${file} is damaged. It contains the key that decrypts the stored secrets. Restore it, or delete its folder to start over.`,
  );
}
