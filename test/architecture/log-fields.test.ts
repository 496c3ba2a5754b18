import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { allowFields } from '../../src/runtime/logger/fields.ts';
import { ROOT } from '../support/root.ts';
import { listFiles } from './source-files.ts';

/** The object that a log call merges into its line, if it is written there. */
const CALL = /\blogger\.(?:trace|debug|info|warn|error|fatal|child)\(\s*\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}/g;
/** A key of it: not one of an object within, nor what follows a spread. */
const KEY = /(?:^|,)\s*(\w+)(?=\s*(?::|,|$))/g;

it('each key that the code logs is allowed, and so is not omitted', () => {
  const logged = new Map<string, string>();
  for (const path of listFiles('src', /\.ts$/)) {
    for (const [, merged = ''] of readFileSync(join(ROOT, path), 'utf8').matchAll(CALL))
      for (const [, key = ''] of merged.matchAll(KEY)) logged.set(key, path);
  }
  expect(logged.size).toBeGreaterThan(25);
  const omitted = [...logged].filter(([key]) => allowFields({ [key]: '' })['hiddenFields'] !== undefined);
  expect(omitted).toEqual([]);
});
