import { SIGNATURE_WINDOW_MS } from '../../../patterns/verify-signature.ts';
import { readTallies } from '../../state/deliveries.ts';
import { count, span } from '../../state/wording.ts';
import type { ServiceCheckInput } from '../check-input.ts';
import { type Check, notChecked, ok, problem, warning } from '../finding.ts';

/**
 * Part of the window of five minutes that is reserved for transmission, retries included; the rest is for
 * clocks.
 */
const UNEASY_MS = 30_000;

/**
 * How far the clocks of the service and of this machine differ, from the `Date` of a response and from the
 * timestamps of signed deliveries.
 */
export const clockCheck: Check<ServiceCheckInput> = {
  id: 'clock',
  title: 'clocks of this machine and of the service',
  async run({ account, service, database, clock }) {
    const asked = await service.connections();
    const date = asked.ok ? asked.value.date : null;
    // It is truncated to the second: half a second is the best estimate for the rest.
    const ahead = asked.ok && date !== null ? date + 500 - asked.at : null;
    const since = clock.now() - 2 * 3_600_000;
    const tallies = database === null ? null : await readTallies(database, since, account.subscriptionId);
    const ages = tallies?.get('age') ?? null;
    const evidence: string[] = [];
    if (ahead !== null)
      evidence.push(`According to the Date header of its answer, the service's clock ${comparison(ahead)}.`);
    if (ages !== null) {
      const [least, most] = [ages.minMs, ages.maxMs].map(
        (ms) => `${span(ms)}${ms < 0 ? ' in the future' : ''}`,
      );
      evidence.push(
        `${count(ages.count, 'signed delivery', 'signed deliveries')} of the last 2 h ` +
          `${ages.count === 1 ? 'was' : 'were'} ${least === most ? most : `${least} to ${most}`} old by our clock.`,
      );
    }
    const skew = furthest([ahead, ages === null ? null : -ages.minMs]);
    if (skew === null)
      return notChecked('The service sends no Date header, and no signed delivery arrived in the last 2 h.');
    const margin = SIGNATURE_WINDOW_MS - Math.abs(skew);
    evidence.push(
      margin > 0
        ? `Deliveries are refused if the difference exceeds 5 min; ${span(margin)} remain.`
        : 'Deliveries are refused if the difference exceeds 5 min.',
    );
    const advice = [
      'Synchronize the clock of this machine with NTP: timedatectl set-ntp true. chronyc tracking shows the state.',
      'If this clock is correct, the clock of the service is wrong: contact its operators.',
    ];
    if (margin <= 0)
      return problem('The clocks differ so much that every delivery is refused.', { evidence, advice });
    if (Math.abs(skew) > UNEASY_MS)
      return warning(`The clocks differ by ${span(skew)}.`, { evidence, advice });
    return ok('The clocks agree.', { evidence });
  },
};

/** An age is never below the difference of the clocks, so the smallest one is the best estimate. */
function furthest(values: readonly (number | null)[]): number | null {
  return values.reduce<number | null>(
    (found, value) => (value !== null && Math.abs(value) >= Math.abs(found ?? 0) ? value : found),
    null,
  );
}

function comparison(ahead: number): string {
  if (Math.abs(ahead) <= 1_500) return 'agrees with ours';
  return `is ${span(ahead)} ${ahead > 0 ? 'ahead of' : 'behind'} ours`;
}
