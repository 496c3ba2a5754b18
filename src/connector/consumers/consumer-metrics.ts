import type { EventCounter, Metrics, SizeHistogram } from '../../runtime/metrics/metrics.ts';
import { HANDLER } from './dead-letters.ts';

const RESULTS = ['taken', 'failed', 'late', 'unavailable', 'disabled', 'stopped'] as const;
const SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 1, 5, 15, 30, 60];
const LATENCY_SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 30, 60, 300, 3_600];

/** The metrics of the calls of one consumer in this process. */
export interface CallMetrics {
  readonly calls: EventCounter<'result', (typeof RESULTS)[number]>;
  readonly seconds: SizeHistogram<never, never>;
  readonly latency: SizeHistogram<never, never>;
}

/** Metrics by the name of the consumer. */
export type ConsumerMetrics = (consumer: string) => CallMetrics;

/** The metrics of consumer calls in this process. Created once per process. */
export function createConsumerMetrics(metrics: Metrics): ConsumerMetrics {
  const calls = metrics.counters(
    'connector_consumer_calls_total',
    'Calls of a consumer, by result: taken, failed, late (past the deadline), unavailable, disabled or stopped with the process.',
    'consumer',
    { name: 'result', values: RESULTS },
  );
  const seconds = metrics.histograms(
    'connector_consumer_seconds',
    'Duration of the calls of a consumer.',
    SECONDS,
    'consumer',
  );
  const latency = metrics.histograms(
    'connector_consumer_latency_seconds',
    'Time from the first change of a call until the consumer has taken it.',
    LATENCY_SECONDS,
    'consumer',
  );
  const of: ConsumerMetrics = (consumer) => ({
    calls: calls(consumer),
    seconds: seconds(consumer),
    latency: latency(consumer),
  });
  // The handler is shown before its first call.
  of(HANDLER);
  return of;
}
