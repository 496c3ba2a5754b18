import { expect, it } from 'vitest';
import { createMetrics, type Metrics } from '../../../src/runtime/metrics/metrics.ts';
import { mergeMetrics } from '../../../src/runtime/supervisor/merge-metrics.ts';

function metricsOf(process: string, events: number): Metrics {
  const metrics = createMetrics({ labels: { process } });
  metrics
    .counter('events_total', 'Events, # HELP and all', { name: 'kind', values: ['a\nb'] })
    .inc({ kind: 'a\nb' }, events);
  metrics.gauge('waiting', 'What waits').set(events);
  return metrics;
}

it('merges the metrics of processes under one header per metric', async () => {
  const [one, two] = await Promise.all([metricsOf('1', 3).render(), metricsOf('2', 4).render()]);
  expect(mergeMetrics([one.text, '', two.text])).toBe(`# HELP events_total Events, # HELP and all
# TYPE events_total counter
events_total{kind="a\\nb",process="1"} 3
events_total{kind="a\\nb",process="2"} 4

# HELP waiting What waits
# TYPE waiting gauge
waiting{process="1"} 3
waiting{process="2"} 4
`);
});

it('keeps a metric that only one process has', async () => {
  const other = createMetrics({ labels: { process: '2' } });
  other.gauge('rare', 'Seen once').set(1);
  const merged = mergeMetrics([(await metricsOf('1', 1).render()).text, (await other.render()).text]);
  expect(merged).toContain('# HELP rare Seen once\n# TYPE rare gauge\nrare{process="2"} 1\n');
  expect(merged).toContain('waiting{process="1"} 1\n');
});
