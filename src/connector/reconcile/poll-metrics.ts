import type { Metrics } from '../../runtime/metrics/metrics.ts';

export type PollMetrics = ReturnType<typeof createPollMetrics>;

const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** The metrics of polling. Created once per process. */
export function createPollMetrics(metrics: Metrics) {
  return {
    seconds: metrics.histogram('connector_poll_seconds', 'How long polls took, by outcome.', SECONDS, {
      name: 'outcome',
      values: ['good', 'failed'],
    }),
    pages: metrics.counter('connector_poll_pages_total', 'Pages of messages read.', {
      name: 'kind',
      values: ['coverage', 'visibility', 'sweep', 'end'],
    }),
    invalid: metrics.counter(
      'connector_poll_invalid_total',
      'Records of the service that could not be read.',
    ),
    lostCursors: metrics.counter(
      'connector_poll_lost_cursors_total',
      'Cursors of the message list that the service no longer took.',
    ),
    merged: metrics.counter('connector_poll_merged_total', 'What polling changed on messages.', {
      name: 'what',
      values: ['created', 'status', 'fields'],
    }),
    withoutSender: metrics.counter(
      'connector_messages_without_sender_total',
      'Incoming messages that polling brought first: the list of messages names no sender.',
    ),
    repaired: metrics.counter(
      'connector_poll_repaired_total',
      'What polling found that no webhook delivered within its three attempts.',
      { name: 'what', values: ['message', 'status'] },
    ),
    coverageLag: metrics.gauge(
      'connector_coverage_lag_seconds',
      'From the newest message that polling has reached back to where its coverage begins.',
      ['account'],
    ),
    ahead: metrics.gauge(
      'connector_service_ahead_seconds',
      "How far the newest message is dated ahead of our clock and the service's.",
      ['account'],
    ),
    openStatuses: metrics.gauge('connector_open_statuses', 'Statuses that may still rise, of seven days.', [
      'account',
    ]),
    backOff: metrics.gauge(
      'connector_poll_back_off_seconds',
      'How long the next poll waits after failures.',
      ['account'],
    ),
    lastGood: metrics.gauge('connector_poll_last_good_timestamp_seconds', 'When the last good poll ended.', [
      'account',
    ]),
  };
}
