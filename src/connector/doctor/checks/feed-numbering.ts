import { readOldestUnnumbered } from '../../feed/measure-numbering.ts';
import type { StoreFacts } from '../facts.ts';
import { type Check, ok, problem, warning } from '../finding.ts';
import { count, span } from '../wording.ts';

const MOST = 10_000;
const LATE_MS = 10_000;

/** Committed changes get their numbers within moments, since nobody sees them before. */
export const feedNumbering: Check<StoreFacts> = {
  id: 'feed',
  title: 'numbering of the change feed',
  async look({ database, clock }) {
    const since = await readOldestUnnumbered(database);
    const [row] = await database.query<{ waiting: number; lastSeq: number }>(
      `select (select count(*) from (select from connector.change_batches where last_seq is null limit ${MOST}) w) as waiting,
              (select last_seq from connector.feed) as "lastSeq"`,
    );
    const { waiting, lastSeq } = row ?? { waiting: 0, lastSeq: 0 };
    const lagMs = since === null ? 0 : clock.now() - since;
    const evidence = [
      waiting === 0
        ? `The last number is ${lastSeq}; nothing waits for one.`
        : `${count(waiting, 'batch waits', 'batches wait')}, the oldest for ${span(lagMs)}; the last number is ${lastSeq}.`,
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
