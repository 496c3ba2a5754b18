import { expect, it } from 'vitest';
import { ASSUMPTIONS } from '../../src/platform/kernel/assumptions.ts';
import { readSources } from './source-files.ts';

it('code reads the value of each choice that has one, and of no other', () => {
  const read = new Set(
    readSources('src').flatMap(({ code }) =>
      [...code.matchAll(/\bASSUMPTIONS\s*\.\s*(\w+)/g)].map(([, name]) => name),
    ),
  );
  const values = Object.entries(ASSUMPTIONS).flatMap(([name, choice]) => ('value' in choice ? [name] : []));
  expect(values.length).toBeGreaterThan(40);
  expect([...read].sort()).toEqual(values.sort());
});
