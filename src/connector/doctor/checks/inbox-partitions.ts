import { endOfPartition, listInboxPartitions } from '../../db/inbox-partitions.ts';
import type { StoreFacts } from '../facts.ts';
import { type Check, type Finding, ok, warning } from '../finding.ts';
import { count } from '../wording.ts';

const DAY_MS = 86_400_000;
const MOST = 1_000;

/** The raw inbox has a partition for today and tomorrow, none past its time, and nothing beside them. */
export const inboxPartitions: Check<StoreFacts> = {
  id: 'inbox',
  title: 'raw inbox and its days',
  async look({ database, clock, settings }) {
    const now = clock.now();
    const names = await listInboxPartitions(database);
    const ends = names.map(endOfPartition).filter(Number.isFinite);
    const [row] = await database.query<{ stray: number; bytes: number; all: number }>(
      `select (select count(*) from (select from connector.inbox_default limit ${MOST}) d) as stray,
              coalesce((select sum(pg_total_relation_size(inhrelid)) from pg_inherits
                         where inhparent = 'connector.inbox'::regclass), 0)::bigint as bytes,
              pg_database_size(current_database()) as all`,
    );
    const { stray, bytes, all } = row ?? { stray: 0, bytes: 0, all: 0 };
    const evidence = [
      `${count(ends.length, 'day')} in ${megabytes(bytes)}; the whole database has ${megabytes(all)}. Its free disk cannot be seen from here.`,
    ];
    const findings: Finding[] = [];
    const tomorrow = Math.floor(now / DAY_MS) * DAY_MS + 2 * DAY_MS;
    if (!ends.includes(tomorrow) || stray > 0) {
      const says =
        stray > 0
          ? 'Deliveries lie outside of the days of the inbox.'
          : 'The inbox has no partition for tomorrow.';
      const more = `${stray >= MOST ? `${MOST} or more` : stray} in the default partition.`;
      findings.push(
        warning(says, {
          evidence: [...evidence, more],
          advice: [
            'Start a connector: every process makes the partitions of a week at start and every hour, and moves what lies outside. If one runs, its log tells what fails.',
          ],
        }),
      );
    }
    const due = now - (settings.inboxRetentionDays + 2) * DAY_MS;
    const old = ends.filter((end) => end < due).length;
    if (old > 0) {
      findings.push(
        warning(`${count(old, 'day')} of the inbox should have been dropped.`, {
          evidence: [...evidence, `INBOX_RETENTION_DAYS is ${settings.inboxRetentionDays}.`],
          advice: [
            'The user of DATABASE_URL must own the table connector.inbox; the log of the connector tells more.',
          ],
        }),
      );
    }
    return findings.length > 0 ? findings : ok('The inbox is in shape.', { evidence });
  },
};

function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MB`;
}
