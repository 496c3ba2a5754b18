import { oldestWaitMs, readFeed } from '../../state/figures.ts';
import type { StoreCheckInput } from '../check-input.ts';
import { type Check, ok, problem, warning } from '../finding.ts';
import { count, span } from '../wording.ts';

const LATE_MS = 10_000;

/** Committed changes are numbered within moments. Until then, no reader sees them. */
export const feedCheck: Check<StoreCheckInput> = {
  id: 'feed',
  title: 'numbering of the change feed',
  async run({ database, clock }) {
    const feed = await readFeed(database);
    const lagMs = oldestWaitMs(feed, clock.now());
    const evidence = [
      feed.waiting === 0
        ? `The last number is ${feed.lastSeq}; no change waits for a number.`
        : `${count(feed.waiting, 'batch waits', 'batches wait')} for numbers, the oldest for ${span(lagMs)}; the last number is ${feed.lastSeq}.`,
    ];
    if (lagMs <= LATE_MS) return ok('Changes are numbered without delay.', { evidence });
    const advice = [
      'If no process of the connector runs, start one: every process numbers changes.',
      'Otherwise look in pg_stat_activity for a session that hangs in connector.number_changes: it numbers alone.',
    ];
    return lagMs > 6 * LATE_MS
      ? problem('Changes are not numbered, so no reader sees them.', { evidence, advice })
      : warning('Changes are numbered late.', { evidence, advice });
  },
};
