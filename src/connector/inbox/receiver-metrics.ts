import type { Metrics } from '../../runtime/metrics/metrics.ts';
import type { BatchResult } from '../db/commit-batch.ts';
import { CHANGE, DELIVERY_OUTCOMES, type DeliveryOutcome, type RawDelivery } from '../db/facts.ts';
import { REFUSALS, type Refusal } from './answers.ts';

const COMMIT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const SKEW_SECONDS = [-300, -60, -10, -1, 0, 0.1, 0.5, 1, 2, 5, 10, 60, 300];

/** Registers the receiver's metrics. `waiting` is called when the metrics are read. */
export function createReceiverMetrics(metrics: Metrics, waiting: () => number) {
  const deliveries = metrics.counter(
    'connector_webhook_deliveries_total',
    'Committed deliveries, by outcome.',
    { name: 'outcome', values: DELIVERY_OUTCOMES },
  );
  const refused = metrics.counter(
    'connector_webhook_refused_total',
    'Rejected requests to the webhook receiver, by reason.',
    { name: 'reason', values: Object.keys(REFUSALS) as Refusal[] },
  );
  const conflicts = metrics.counter(
    'connector_webhook_status_conflicts_total',
    'Messages reported both read and failed; the first report counts.',
  );
  const unread = metrics.counter(
    'connector_webhook_unread_total',
    'Deliveries with fields that could not be read and were stored as null.',
  );
  const failures = metrics.counter(
    'connector_webhook_commit_failures_total',
    'Failed commits: retried once, split to find the cause, or given up.',
    { name: 'kind', values: ['retried', 'split', 'given_up'] },
  );
  const commitSeconds = metrics.histogram(
    'connector_webhook_commit_seconds',
    'Duration of the commit of a batch, including retries.',
    COMMIT_SECONDS,
  );
  const answerSeconds = metrics.histogram(
    'connector_webhook_answer_seconds',
    'Time from the headers of an accepted delivery to its response; the sender gives up after 10 s.',
    COMMIT_SECONDS,
  );
  const batchSize = metrics.histogram(
    'connector_webhook_batch_size',
    'Number of deliveries committed together.',
    BATCH_SIZES,
  );
  const skew = metrics.histogram(
    'connector_webhook_clock_skew_seconds',
    'Age of valid signatures by our clock: transit time plus the difference between the clocks.',
    SKEW_SECONDS,
  );
  metrics.gauge('connector_webhook_waiting', 'Verified deliveries waiting for a commit.', [], (gauge) =>
    gauge.set(waiting()),
  );

  return {
    refused: (reason: Refusal): void => refused.inc({ reason }),
    /** A valid signature, made `ms` before our clock; negative for the future. */
    signedAgo: (ms: number): void => skew.observe(ms / 1000),
    /** A delivery was committed and answered this long after its headers were read. */
    answeredIn: (ms: number): void => answerSeconds.observe(ms / 1000),
    committed(result: BatchResult, batch: readonly RawDelivery[]): void {
      batchSize.observe(batch.length);
      for (const { reason, outcome } of batch)
        if (reason !== undefined && outcome === undefined) unread.inc();
      for (const [outcome, count] of countOutcomes(result)) deliveries.inc({ outcome }, count);
      for (const [mask, count] of result.masks) if (mask & CHANGE.conflict) conflicts.inc(count);
    },
    commitFailed: (kind: 'retried' | 'split' | 'given_up'): void => failures.inc({ kind }),
    /** Times one commit; call the returned function when it is done. */
    commitStarted: () => commitSeconds.startTimer(),
  };
}

function countOutcomes(result: BatchResult): [DeliveryOutcome, number][] {
  return Object.entries(result.outcomes) as [DeliveryOutcome, number][];
}
