import type { Clock } from '../../runtime/clock/clock.ts';
import { shareReads } from '../../runtime/clock/share-reads.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';

export type HandoverMetrics = ReturnType<typeof createHandoverMetrics>;

const SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 1, 5, 15, 30, 60];

/** The figures of the handler's calls in this process. Made once per process. */
export function createHandoverMetrics(metrics: Metrics) {
  return {
    calls: metrics.counter(
      'connector_handler_calls_total',
      'Calls of the handler, by result: taken, failed, late (past the deadline) or stopped with the process.',
      { name: 'result', values: ['taken', 'failed', 'late', 'stopped'] },
    ),
    seconds: metrics.histogram('connector_handler_seconds', 'How long calls of the handler took.', SECONDS),
  };
}

/** How far the hand-over is behind the feed, over all processes. */
export interface HandoverLag {
  /** Changes that were committed and not handed over yet. */
  readonly waiting: number;
  /** When the oldest of them was made, epoch ms. */
  readonly oldestAt: number | null;
  readonly deadLetters: number;
}

/** The first change of a queue is its oldest, and what is not in a queue yet is newer than all that ever was. */
const LAG = `
SELECT f.last_seq - h.cursor + l.waiting AS waiting, l.set_aside AS "deadLetters",
       coalesce(
         (SELECT min(c.at) FROM connector.handover_lanes w
           CROSS JOIN LATERAL connector.handover_head(w.connection_id, 1) q
           CROSS JOIN LATERAL (
             SELECT n.at FROM connector.changes n WHERE n.batch = q.batch AND n.position = q.position OFFSET 0) c
           WHERE w.waiting > 0),
         (SELECT c.at FROM (SELECT b.id FROM connector.change_batches b
                             WHERE b.last_seq > h.cursor ORDER BY b.last_seq LIMIT 1) b
            JOIN connector.changes c ON c.batch = b.id AND c.position = 1)) AS "oldestAt"
  FROM connector.handover h CROSS JOIN connector.feed f
 CROSS JOIN (SELECT coalesce(sum(waiting), 0)::bigint AS waiting, coalesce(sum(set_aside), 0)::bigint AS set_aside
               FROM connector.handover_lanes) l`;

/** Reads the lag; null where no handler has ever run. */
export async function readLag(db: Queryable): Promise<HandoverLag | null> {
  const [lag] = await db.query<HandoverLag>(LAG);
  return lag ?? null;
}

/** Registers the lag as metrics. Every process tells the same; without a database they keep their last values. */
export function measureHandover(metrics: Metrics, db: Queryable, clock: Clock): void {
  const read = shareReads(() => readLag(db).catch(() => undefined));

  function gauge(name: string, help: string, figure: (lag: HandoverLag) => number): void {
    metrics.gauge(name, help, [], async (shown) => {
      const lag = await read();
      if (lag !== undefined) shown.set(lag === null ? 0 : figure(lag));
    });
  }

  gauge(
    'connector_handover_waiting',
    'Changes that wait to be handed over; 0 where no handler has ever run.',
    ({ waiting }) => waiting,
  );
  gauge(
    'connector_handover_oldest_waiting_seconds',
    'Age of the oldest change that waits to be handed over; 0 when none does.',
    ({ oldestAt }) => (oldestAt === null ? 0 : Math.max(0, clock.now() - oldestAt) / 1_000),
  );
  gauge(
    'connector_dead_letters',
    'Changes that the handler could not take, and that wait for an operator.',
    ({ deadLetters }) => deadLetters,
  );
}
