import { LIMITS } from '../../../contract/service/limits.ts';
import type { Refusal } from '../../inbox/answers.ts';
import { readTallies } from '../../state/deliveries.ts';
import { ago, count, span } from '../../state/wording.ts';
import type { StoreCheckInput } from '../check-input.ts';
import { type Check, notChecked, ok, problem, warning } from '../finding.ts';

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
  title: 'answer times of deliveries',
  async run({ database, clock }) {
    const now = clock.now();
    const tallies = await readTallies(database, now - LATELY_MS, null);
    const accepted = tallies.get('accepted');
    const refused = UNAVAILABLE.flatMap((kind) => tallies.get(kind) ?? []);
    const failed = refused.reduce((sum, each) => sum + each.count, 0);
    const failedAt = Math.max(0, ...refused.map(({ lastAt }) => lastAt));
    if (accepted === undefined && failed === 0) return notChecked('No delivery arrived in the last hour.');
    const evidence: string[] = [];
    if (accepted !== undefined) {
      evidence.push(
        `In the last hour, ${count(accepted.count, 'delivery was', 'deliveries were')} accepted, in ${span(accepted.totalMs / accepted.count)} on average and ${span(accepted.maxMs)} at most. The service waits ${span(LIMITS.webhookAttemptTimeoutMs)}.`,
      );
    }
    if (failed > 0) {
      evidence.push(
        `${count(failed, 'was', 'were')} answered with 503, the last ${ago(failedAt, now)}: the database did not store ${failed === 1 ? 'it' : 'them'} in time.`,
      );
    }
    const advice = [
      'Check the database: its load, its disk, held locks (pg_stat_activity) and the network to it.',
      'connector_webhook_commit_seconds shows how long commits take. Add web processes only if the existing ones use all of their CPU.',
    ];
    if (failed > 0 && failedAt < (accepted?.lastAt ?? 0)) {
      return warning('Some deliveries of the last hour failed, but deliveries are accepted again.', {
        evidence,
        advice,
      });
    }
    if (failed > 0) {
      return now - failedAt < GOES_ON_MS
        ? problem('Deliveries fail because they are not stored in time.', { evidence, advice })
        : warning('The last deliveries failed, and none has arrived since.', { evidence, advice });
    }
    if (accepted !== undefined && accepted.maxMs > SLOW_MS) {
      return warning('Some answers were close to the time limit.', { evidence, advice });
    }
    return ok('Deliveries are answered quickly.', { evidence });
  },
};
