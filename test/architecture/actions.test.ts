import { describe, expect, it } from 'vitest';
import { readSources } from './source-files.ts';

const ACTIONS = /\bconst\s+(\w+|\{[^}]*\})\s*=\s*useAction\b/g;

/** The actions of a file that no button shows as running: a click on it would have no effect, and say nothing. */
function findUnmarked(source: string): string[] {
  return [...source.matchAll(ACTIONS)]
    .map(([, name = '']) => name)
    .filter((name) =>
      name.startsWith('{')
        ? !/\bisPending\b/.test(name)
        : !new RegExp(`\\b${name}\\.isPending\\b|\\baction=\\{${name}\\}`).test(source),
    );
}

const screens = readSources('packages/console/src').filter(({ source }) => source.includes('useAction('));

describe('the buttons of the console', () => {
  it('are marked while their action is running, because it ignores further clicks', () => {
    expect(screens.length).toBeGreaterThan(10);
    expect(
      screens.flatMap(({ path, source }) => findUnmarked(source).map((name) => `${path} ${name}`)),
    ).toEqual([]);
  });
});
