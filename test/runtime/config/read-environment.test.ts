import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { readEnvironment } from '../../../src/runtime/config/read-environment.ts';
import { makeFolder } from '../../support/make-folder.ts';

let folder: string;

beforeEach(() => {
  folder = makeFolder();
});

describe('the environment of a command', () => {
  it('is that of the process if there is no file', () => {
    expect(readEnvironment(folder, { A: '1' })).toEqual({ A: '1' });
  });

  it('includes the variables of .env, which the process overrides', () => {
    writeFileSync(join(folder, '.env'), '# a comment\nA=file\nB="with spaces"\nC=file\n');
    expect(readEnvironment(folder, { A: 'process', C: '' })).toEqual({
      A: 'process',
      B: 'with spaces',
      C: '',
    });
    expect(process.env['B']).not.toBe('with spaces');
  });

  it('refuses a file that cannot be read', () => {
    mkdirSync(join(folder, '.env'));
    expect(() => readEnvironment(folder, {})).toThrow(/cannot be read \(EISDIR\)/);
  });
});
