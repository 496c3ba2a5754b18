import type { Metrics } from '../../runtime/metrics/metrics.ts';
import type { Facts } from './facts.ts';
import { HEALTH } from './health.ts';

/**
 * Registers the figures of all processes as metrics. They are read when metrics are requested; without a database
 * they keep their last values.
 */
export function measureState(metrics: Metrics, facts: Facts): void {
  for (const { metric, help = '', labels = [], read } of HEALTH) {
    if (metric === undefined) continue;
    metrics.gauge<string>(metric, help, labels, async (shown) => {
      const value = await read(facts).catch(() => undefined);
      if (value === undefined) return;
      shown.reset();
      const samples = typeof value === 'number' ? ([[{}, value]] as const) : value;
      for (const [labelled, number] of samples) shown.set(labelled, number);
    });
  }
}
