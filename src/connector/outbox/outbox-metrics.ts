import type { Metrics } from '../../runtime/metrics/metrics.ts';

export type OutboxMetrics = ReturnType<typeof createOutboxMetrics>;

const SECONDS = [0.1, 0.5, 1, 2, 5, 10, 20, 60, 120, 200];

/** The metrics of sending. Created once per process. */
export function createOutboxMetrics(metrics: Metrics) {
  return {
    attempts: metrics.counter('connector_send_attempts_total', 'Attempts to send, by outcome.', {
      name: 'outcome',
      values: ['accepted', 'refused', 'not_sent', 'lost', 'abandoned'],
    }),
    seconds: metrics.histogram('connector_send_seconds', 'Duration of attempts to send.', SECONDS),
    finished: metrics.counter('connector_sends_finished_total', 'Finished sends, by state.', {
      name: 'state',
      values: ['sent', 'rejected', 'unknown', 'delivered_not_stored', 'cancelled'],
    }),
  };
}
