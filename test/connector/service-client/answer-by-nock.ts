import nock from 'nock';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { ManualClock } from '../../support/manual-clock.ts';

/** Lets nock answer the requests of a file, and no server. After a test, no answer and no timer is left. */
export function answerByNock(clock: ManualClock): void {
  beforeAll(() => {
    // A file before it in the same process may have switched it off.
    if (!nock.isActive()) nock.activate();
    nock.disableNetConnect();
  });
  afterEach(() => {
    const pending = nock.pendingMocks();
    nock.cleanAll();
    expect(pending).toEqual([]);
    expect(clock.pending).toBe(0);
  });
  afterAll(() => {
    nock.enableNetConnect();
    nock.restore();
  });
}
