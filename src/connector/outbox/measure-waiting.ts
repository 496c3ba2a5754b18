import type { Clock } from '../../runtime/clock/clock.ts';
import { shareReads } from '../../runtime/clock/share-reads.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';

/** More are not counted. */
const MOST = 10_000;

interface Waiting {
  readonly count: number;
  readonly oldestAt: number | null;
}

/** Registers what waits to be sent, over all processes. Read when metrics are asked for; without a database the last values stay. */
export function measureWaitingSends(metrics: Metrics, db: Queryable, clock: Clock): void {
  const read = shareReads(() => readWaiting(db).catch(() => null));

  function gauge(name: string, help: string, figureOf: (waiting: Waiting) => number): void {
    metrics.gauge(name, help, [], async (shown) => {
      const waiting = await read();
      if (waiting !== null) shown.set(figureOf(waiting));
    });
  }

  gauge(
    'connector_sends_waiting',
    'Sends that are queued or under way; 10000 stands for that many or more.',
    ({ count }) => count,
  );
  gauge(
    'connector_sends_oldest_waiting_seconds',
    'Age of the oldest send that is queued or under way; 0 when there is none.',
    ({ oldestAt }) => (oldestAt === null ? 0 : Math.max(0, clock.now() - oldestAt) / 1_000),
  );
}

/** By the index of the lanes, which holds unfinished sends alone. */
async function readWaiting(db: Queryable): Promise<Waiting> {
  const [row] = await db.query<Waiting>(
    `select count(*) as count, min(created_at) as "oldestAt"
       from (select created_at from connector.outbound where state in ('queued', 'sending') limit ${MOST}) w`,
  );
  return row ?? { count: 0, oldestAt: null };
}
