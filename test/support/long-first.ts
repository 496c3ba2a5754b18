import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Folders whose files start processes or wait for time-outs: up to a minute and a half each. */
const LONG = /^test\/(campaign|bench|package|cli|docs|conformance|runtime\/queue|runtime\/database)\//;

/** Begins with the files that take long, so that a run does not end with one of them and idle workers. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const { root } = this.ctx.config;
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG.test(relative(root, moduleId));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
