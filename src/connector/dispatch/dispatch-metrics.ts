import type { Metrics } from '../../runtime/metrics/metrics.ts';

export type DispatchMetrics = ReturnType<typeof createDispatchMetrics>;

const SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 1, 5, 15, 30, 60];

/** The metrics of handler calls in this process. Created once per process. */
export function createDispatchMetrics(metrics: Metrics) {
  return {
    calls: metrics.counter(
      'connector_handler_calls_total',
      'Handler calls, by result: taken, failed, late (past the deadline) or stopped with the process.',
      { name: 'result', values: ['taken', 'failed', 'late', 'stopped'] },
    ),
    seconds: metrics.histogram('connector_handler_seconds', 'Duration of handler calls.', SECONDS),
  };
}
