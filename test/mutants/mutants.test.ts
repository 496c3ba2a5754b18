import { describe, expect, it } from 'vitest';
import { readCitations } from '../support/citations.ts';
import { projectsOf } from '../support/projects.ts';
import { CONNECTOR_MUTANTS } from './connector-mutants.ts';
import { findMutant, findTest } from './find-mutant.ts';
import { MUTANTS } from './mutants.ts';

const cited = new Set(
  readCitations()
    .citations.filter(({ file, runs }) => runs && !projectsOf(file).includes('campaign'))
    .map(({ id }) => id),
);

describe('each mutant', () => {
  it('matches exactly one place in the source, and changes it', () => {
    for (const mutant of [...MUTANTS, ...CONNECTOR_MUTANTS]) {
      const { source, broken } = findMutant(mutant);
      expect([mutant.rule, broken === source]).toEqual([mutant.rule, false]);
    }
  });

  it('has a test outside the campaigns: one that cites the rule, or the one that the table names', () => {
    expect(MUTANTS.filter(({ rule }) => !cited.has(rule)).map(({ rule }) => rule)).toEqual([]);
    for (const mutant of CONNECTOR_MUTANTS) {
      expect([mutant.rule, projectsOf(findTest(mutant).file)]).not.toEqual([mutant.rule, ['campaign']]);
    }
  });

  it('is reported if its text does not occur exactly once', () => {
    const rule = 'limits.page';
    expect(() => findMutant({ rule, find: 'stands nowhere', replace: '' })).toThrow('is in nowhere');
    expect(() => findMutant({ rule, find: "from 'node:crypto'", replace: '' })).toThrow(rule);
  });
});
