import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Projects whose files start processes and wait for them, the longest first. */
const ORDER = ['campaign', 'long', 'docs', 'process', 'service', 'unit'];
/** Files that take longer than their size suggests, by which files are sorted in a checkout without earlier runs. */
const LONG = /(?:service-suite|scenario\/replay)\.test\.ts$/;

/**
 * Begins with the projects whose files take long, and in each with its long files, so that a run does not end with one
 * of them and idle workers. Files of one project follow each other, since only they share processes.
 */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ project, moduleId }: TestSpecification): number =>
      2 * ORDER.indexOf(project.name) + (LONG.test(moduleId) ? 0 : 1);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}
