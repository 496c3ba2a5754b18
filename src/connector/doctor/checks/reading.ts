import { readProgress } from '../../reconcile/progress.ts';
import { readTallies } from '../../state/deliveries.ts';
import type { AccountCheckInput } from '../check-input.ts';
import { type Check, ok, warning } from '../finding.ts';
import { ago, count, some } from '../wording.ts';

const LATELY_MS = 24 * 3_600_000;

/** Everything that the service reported could be read. */
export const readingCheck: Check<AccountCheckInput> = {
  id: 'reading',
  title: 'fields and records that could not be read',
  async run({ account, database, clock }) {
    const now = clock.now();
    const tallies = await readTallies(database, now - LATELY_MS, account.subscriptionId);
    const { unread: days } = await readProgress(database, account.id);
    const invalid = tallies.get('invalid');
    const unread = tallies.get('unread');
    const evidence = [
      ...(invalid === undefined
        ? []
        : [
            `In the last 24 h, ${count(invalid.count, 'delivery', 'deliveries')} had no readable id, the last ${ago(invalid.lastAt, now)}. They are stored as invalid and change nothing.`,
          ]),
      ...(unread === undefined
        ? []
        : [
            `In the last 24 h, ${count(unread.count, 'delivery', 'deliveries')} had fields that could not be read, the last ${ago(unread.lastAt, now)}. The fields are null; the rest was merged.`,
          ]),
      ...(days.length === 0
        ? []
        : [
            `The message list contains records without a readable id or connection, which were left out. Days on which their pages end: ${some(days.map(({ slot }) => slot.slice(slot.indexOf(':') + 1)))}.`,
          ]),
    ];
    if (evidence.length === 0) return ok('Everything that the service reported could be read.');
    return warning('Some of what the service reported could not be read.', {
      evidence,
      advice: [
        'The column reason of connector.inbox, the trace of a message, and the log name the fields.',
        'Report this to the operators of the service. If its format has changed, a newer version of the connector may be able to read it; it reads what was kept or left out again by itself.',
      ],
    });
  },
};
