import { expect, it } from 'vitest';
import { ASSUMPTIONS } from '../../src/platform/kernel/assumptions.ts';
import { readSources } from './source-files.ts';

it('each assumed value steers the service: what only tells a choice is in test/requirements/choices.ts', () => {
  const read = new Set(
    readSources('src').flatMap(({ code }) =>
      [...code.matchAll(/\bASSUMPTIONS\s*\.\s*(\w+)/g)].map(([, name]) => name),
    ),
  );
  expect(Object.keys(ASSUMPTIONS).length).toBeGreaterThan(40);
  expect(Object.keys(ASSUMPTIONS).filter((name) => !read.has(name))).toEqual([]);
});
