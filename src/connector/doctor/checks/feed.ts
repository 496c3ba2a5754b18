import { oldestWaitMs, readFeed } from '../../state/figures.ts';
import type { StoreCheckInput } from '../check-input.ts';
import { type Check, ok, problem, warning } from '../finding.ts';
import { count, span } from '../wording.ts';

const LATE_MS = 10_000;

/** Committed changes are numbered within moments. Until then, no reader sees them. */
export const feedCheck: Check<StoreCheckInput> = {
  id: 'feed',
  title: 'numbering of the change feed',
  async look({ database, clock }) {
    const feed = await readFeed(database);
    const lagMs = oldestWaitMs(feed, clock.now());
    const evidence = [
      feed.waiting === 0
        ? `The last number is ${feed.lastSeq}; nothing waits for one.`
        : `${count(feed.waiting, 'batch waits', 'batches wait')}, the oldest for ${span(lagMs)}; the last number is ${feed.lastSeq}.`,
    ];
    if (lagMs <= LATE_MS) return ok('Changes are numbered as they come.', { evidence });
    const advice = [
      'If no process of the connector runs, start one: each of them numbers.',
      'If some run, look for one that hangs in a transaction (pg_stat_activity) and holds the row connector.feed.',
    ];
    return lagMs > 6 * LATE_MS
      ? problem('Changes get no numbers, so nobody sees them.', { evidence, advice })
      : warning('The numbering of changes lags.', { evidence, advice });
  },
};
