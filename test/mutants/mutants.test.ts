import { describe, expect, it } from 'vitest';
import { readCitations } from '../support/citations.ts';
import { projectsOf } from '../support/projects.ts';
import { findMutant } from './find-mutant.ts';
import { MUTANTS } from './mutants.ts';

const cited = new Set(
  readCitations()
    .citations.filter(({ file, runs }) => runs && !projectsOf(file).includes('campaign'))
    .map(({ id }) => id),
);

describe('each way to break a rule', () => {
  it('stands at one place of the source, and changes it', () => {
    for (const mutant of MUTANTS) {
      const { source, broken } = findMutant(mutant);
      expect([mutant.rule, broken === source]).toEqual([mutant.rule, false]);
    }
  });

  it('has a test outside the campaigns that cites the rule', () => {
    expect(MUTANTS.filter(({ rule }) => !cited.has(rule)).map(({ rule }) => rule)).toEqual([]);
  });

  it('is named when its text is not there, or there more than once', () => {
    const rule = 'limits.page';
    expect(() => findMutant({ rule, find: 'stands nowhere', replace: '' })).toThrow('(nowhere)');
    expect(() => findMutant({ rule, find: "from 'node:crypto'", replace: '' })).toThrow(rule);
  });
});
