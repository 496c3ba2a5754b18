import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Projects whose files start processes and wait for them, the longest first. */
const ORDER = ['campaign', 'docs', 'process', 'service', 'unit'];

/**
 * Begins with the projects whose files take long, so that a run does not end with one of them and idle workers.
 * Files of one project follow each other, since only they share processes.
 */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ project }: TestSpecification): number => ORDER.indexOf(project.name);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}
