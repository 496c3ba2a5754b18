import type { Metrics } from '../../runtime/metrics/metrics.ts';

export type PollMetrics = ReturnType<typeof createPollMetrics>;

const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** The metrics of polling. Created once per process. */
export function createPollMetrics(metrics: Metrics) {
  const ofAccounts = {
    coverageLag: metrics.gauge(
      'connector_coverage_lag_seconds',
      'Time between the newest message that polling reached and the watermark.',
      ['account'],
    ),
    ahead: metrics.gauge(
      'connector_service_ahead_seconds',
      'How far the newest message is dated after both our clock and the clock of the service.',
      ['account'],
    ),
    openStatuses: metrics.gauge(
      'connector_open_statuses',
      'Statuses of the last seven days that can still move forward.',
      ['account'],
    ),
    backOff: metrics.gauge('connector_poll_back_off_seconds', 'Time until the next poll after failures.', [
      'account',
    ]),
    lastGood: metrics.gauge(
      'connector_poll_last_good_timestamp_seconds',
      'When the last successful poll ended.',
      ['account'],
    ),
  };
  return {
    seconds: metrics.histogram('connector_poll_seconds', 'Duration of polls, by outcome.', SECONDS, {
      name: 'outcome',
      values: ['good', 'failed'],
    }),
    pages: metrics.counter('connector_poll_pages_total', 'Pages of messages read.', {
      name: 'kind',
      values: ['coverage', 'visibility', 'sweep'],
    }),
    invalid: metrics.counter(
      'connector_poll_invalid_total',
      'What could not be read in lists of the service: records without a readable id, which are left out, and fields, which are null.',
      { name: 'what', values: ['record', 'field'] },
    ),
    lostCursors: metrics.counter(
      'connector_poll_lost_cursors_total',
      'Cursors of the message list that the service no longer accepted.',
    ),
    stalls: metrics.counter(
      'connector_poll_stalls_total',
      'Polls that failed because the list of messages could not be read further.',
    ),
    merged: metrics.counter('connector_poll_merged_total', 'What polling changed on messages.', {
      name: 'what',
      values: ['created', 'status', 'fields'],
    }),
    withoutSender: metrics.counter(
      'connector_messages_without_sender_total',
      "Incoming messages that polling stored first: the service's message list does not contain the sender.",
    ),
    repaired: metrics.counter(
      'connector_poll_repaired_total',
      'What polling found that no webhook delivered within its three attempts.',
      { name: 'what', values: ['message', 'status'] },
    ),
    ...ofAccounts,
    /** An account is no longer polled: what was last measured of it would look like polls that stand still. */
    forget(account: string): void {
      for (const gauge of Object.values(ofAccounts)) gauge.remove({ account });
    },
  };
}
