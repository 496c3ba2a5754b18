import { LIMITS } from '../../../contract/service/limits.ts';
import type { Refusal } from '../../inbox/answers.ts';
import { readTallies } from '../../state/deliveries.ts';
import type { StoreCheckInput } from '../check-input.ts';
import { type Check, notChecked, ok, problem, warning } from '../finding.ts';
import { ago, count, span } from '../wording.ts';

const LATELY_MS = 3_600_000;
/** A response that took longer was close to the deadline of a delivery. */
const SLOW_MS = 2_500;
/** An older failure that has not recurred may be over. */
const GOES_ON_MS = 10 * 60_000;

/** Rejections with 503 that the database causes. */
const UNAVAILABLE: readonly Refusal[] = ['unavailable', 'undecided'];

/** Deliveries are answered well before the sender gives up. */
export const answersCheck: Check<StoreCheckInput> = {
  id: 'answers',
  title: 'how fast deliveries are answered',
  async look({ database, clock }) {
    const now = clock.now();
    const tallies = await readTallies(database, now - LATELY_MS, null);
    const taken = tallies.get('taken');
    const refused = UNAVAILABLE.flatMap((kind) => tallies.get(kind) ?? []);
    const unavailable =
      refused.length === 0
        ? undefined
        : {
            count: refused.reduce((sum, each) => sum + each.count, 0),
            lastAt: Math.max(...refused.map(({ lastAt }) => lastAt)),
          };
    if (taken === undefined && unavailable === undefined)
      return notChecked('Nothing was delivered in the last hour.');
    const evidence: string[] = [];
    if (taken !== undefined) {
      evidence.push(
        `In the last hour ${count(taken.count, 'delivery was', 'deliveries were')} taken, in ${span(taken.totalMs / taken.count)} on average and ${span(taken.maxMs)} at most; the service waits ${span(LIMITS.webhookAttemptTimeoutMs)}.`,
      );
    }
    if (unavailable !== undefined) {
      evidence.push(
        `${count(unavailable.count, 'was', 'were')} answered 503, the last ${ago(unavailable.lastAt, now)}: the database did not take ${unavailable.count === 1 ? 'it' : 'them'} in time.`,
      );
    }
    const advice = [
      'Look at the database: its load, its disk, locks that are held (pg_stat_activity), the network to it.',
      'connector_webhook_commit_seconds shows the commits; add web processes only if the processor of these is full.',
    ];
    if (unavailable !== undefined && unavailable.lastAt < (taken?.lastAt ?? 0)) {
      return warning('Some deliveries of the last hour failed; they are taken again.', { evidence, advice });
    }
    if (unavailable !== undefined) {
      return now - unavailable.lastAt < GOES_ON_MS
        ? problem('Deliveries fail, because they are not answered in time.', { evidence, advice })
        : warning('The last deliveries failed, and none has come since.', { evidence, advice });
    }
    if (taken !== undefined && taken.maxMs > SLOW_MS) {
      return warning('Some answers came near the limit.', { evidence, advice });
    }
    return ok('Deliveries are answered quickly.', { evidence });
  },
};
