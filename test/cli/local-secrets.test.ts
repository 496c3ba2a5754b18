import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { readLocalSecrets } from '../../src/commands/local-secrets.ts';
import { makeFolder } from '../support/make-folder.ts';

const OTHERS = { connectorToken: 'token-of-another-start', sealingKey: 'key-of-another-start' };

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  return {
    ...fs,
    // Between the look and the write, another start writes its secrets.
    mkdirSync: (folder: string) => fs.writeFileSync(`${folder}/secrets.json`, JSON.stringify(OTHERS)),
  };
});

it('the secrets of a start that was faster are taken, not replaced', () => {
  const folder = makeFolder();
  expect(readLocalSecrets(join(folder, 'secrets.json'))).toEqual(OTHERS);
  expect(readLocalSecrets(join(folder, 'secrets.json'))).toEqual(OTHERS);
  expect(readdirSync(folder)).toEqual(['secrets.json']);
});
