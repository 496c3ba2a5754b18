import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../support/root.ts';
import { listFiles } from './source-files.ts';

const FILES = ['src', 'test', 'docs', 'drizzle', 'packages'].flatMap((folder) => listFiles(folder, /./));
/** A file, or a folder that ends with a slash, in backticks. */
const NAME = /`((?:[\w.-]+\/)*(?:[\w.-]+\.(?:tsx?|mjs|sql|md)|[\w.-]+\/))`/g;

it.each(['ARCHITECTURE.md', 'CONTRIBUTING.md'])('every file and folder that %s names exists', (document) => {
  const names = [...readFileSync(join(ROOT, document), 'utf8').matchAll(NAME)].map(([, name = '']) => name);
  expect(names.length).toBeGreaterThan(20);
  const exists = (name: string): boolean =>
    FILES.some((file) =>
      name.endsWith('/') ? `/${file}`.includes(`/${name}`) : `/${file}`.endsWith(`/${name}`),
    );
  const missing = names.filter((name) => !exists(name));
  expect(missing).toEqual([]);
});
