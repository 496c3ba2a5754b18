import { describe, expect, it } from 'vitest';
import { ASSUMPTIONS, type Assumption, TOPICS } from '../../src/platform/kernel/assumptions.ts';
import { buildFidelityPages, CHOICES_PAGE } from '../requirements/fidelity-page.ts';
import { REQUIREMENTS } from '../requirements.ts';
import { readProjectFile } from '../support/markdown.ts';

describe('docs/fidelity.md and its appendix', () => {
  const pages = buildFidelityPages();

  it.each(Object.entries(pages))(
    '%s is what `npm run docs` writes (run it and commit the page)',
    (path, text) => {
      // Line by line, so that a failure names what changed and not the whole page.
      const lines = readProjectFile(path).split('\n');
      const written = text.split('\n');
      expect(lines.filter((line) => !written.includes(line))).toEqual([]);
      expect(written.filter((line) => !lines.includes(line))).toEqual([]);
      expect(lines).toEqual(written);
    },
  );

  it('names every choice and every rule that is not modeled', () => {
    const choices: readonly [string, Assumption][] = Object.entries(ASSUMPTIONS);
    expect(
      choices.filter(([name, { id = name }]) => !pages[CHOICES_PAGE]?.includes(`<sub>${id}</sub> |`)),
    ).toEqual([]);
    const missing = REQUIREMENTS.filter(({ kind }) => kind === 'not_modeled');
    const rules = [...choices.map(([, { rule }]) => rule), ...missing.map(({ rule }) => rule)];
    expect(rules.filter((rule) => !Object.values(pages).join('').includes(rule))).toEqual([]);
  });

  it('lists each choice under one topic, by a name and a sentence of its own', () => {
    const listed = Object.values(TOPICS).flatMap((topic) => Object.keys(topic));
    expect(listed).toEqual(Object.keys(ASSUMPTIONS));
    const rules = Object.values(ASSUMPTIONS).map(({ rule }) => rule);
    expect(rules.filter((rule, index) => rules.indexOf(rule) !== index)).toEqual([]);
  });
});
