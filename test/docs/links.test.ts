import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findTargets, listMarkdown, readBlocks, readProjectFile, readProse } from '../support/markdown.ts';
import { ROOT } from '../support/root.ts';

/** The anchor that code hosts generate for a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
}

function findAnchors(markdown: string): readonly string[] {
  return [...readProse(markdown).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));
}

function isBroken(file: string, target: string): boolean {
  if (/^[a-z]+:/.test(target)) return false;
  const [path = '', anchor] = target.split('#');
  const found = path === '' ? file : join(dirname(file), path);
  if (!existsSync(join(ROOT, found))) return true;
  return anchor !== undefined && !findAnchors(readProjectFile(found)).includes(anchor);
}

describe('the documents of the project', () => {
  it.each(listMarkdown())('%s has no broken links', (file) => {
    const targets = findTargets(readProjectFile(file));
    expect(targets.filter((target) => isBroken(file, target))).toEqual([]);
  });

  it.each(listMarkdown())('%s names only scripts that exist', (file) => {
    const { scripts } = JSON.parse(readProjectFile('package.json')) as { scripts: Record<string, string> };
    const named = [...readProjectFile(file).matchAll(/npm run (?:(?:--silent|-s) )?([\w:-]+)/g)].map(
      ([, name = '']) => name,
    );
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });

  it.each(listMarkdown())('%s names only tests and sources that exist', (file) => {
    const prose = readProse(readProjectFile(file));
    const tests = [...prose.matchAll(/`(?:test\/)?((?:[\w-]+\/)+[\w-]+\.test\.ts)`/g)];
    const sources = [...prose.matchAll(/`(src\/[\w./-]+)`/g)];
    const named = [
      ...tests.map(([, path = '']) => (path.startsWith('packages/') ? path : `test/${path}`)),
      ...sources.map(([, path = '']) => path),
    ];
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('have at most 32,000 words, without the appendix', () => {
    const pages = listMarkdown().filter((file) => file === 'README.md' || /^docs\/[^/]+$/.test(file));
    const words = pages.flatMap((file) => readProjectFile(file).split(/\s+/)).filter((word) => word !== '');
    expect(pages.length).toBeGreaterThan(15);
    expect(words.length).toBeLessThanOrEqual(32_000);
  });

  it('are found, with their links and blocks', () => {
    expect(listMarkdown()).toEqual(
      expect.arrayContaining(['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md']),
    );
    expect(findTargets(readProjectFile('README.md')).length).toBeGreaterThan(5);
    expect(readBlocks(readProjectFile('README.md')).length).toBeGreaterThan(5);
    expect(isBroken('README.md', 'no-such-file.md')).toBe(true);
    expect(isBroken('README.md', '#no-such-heading')).toBe(true);
    expect(isBroken('README.md', '#run-it')).toBe(false);
  });
});
