import { type RunnerTestCase, TestRunner } from 'vitest';
import type { RequirementId } from '../requirements.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** Sentences of the specification that the test proves. */
    proves?: readonly RequirementId[];
  }
}

/**
 * Says which sentences of the specification a test proves. Its calls are the first statements of the test:
 * `it('forgets a key after a day', async () => { proves('connections.create.idempotency.lifetime'); …`.
 * An id that is not in `test/requirements.ts` does not compile, and a proven sentence that no test cites
 * fails `test/requirements/coverage.test.ts`. Ids are written as literals, so that they can be read from the file.
 */
export function proves(...ids: readonly [RequirementId, ...RequirementId[]]): void {
  const { meta } = TestRunner.getCurrentTest<RunnerTestCase>();
  meta.proves = [...(meta.proves ?? []), ...ids];
}
