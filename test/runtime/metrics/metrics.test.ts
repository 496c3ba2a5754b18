import { register } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { measureDatabase } from '../../../src/runtime/metrics/measure-database.ts';
import { createMetrics } from '../../../src/runtime/metrics/metrics.ts';

describe('metrics', () => {
  it('render counters, gauges and histograms in the Prometheus format', async () => {
    const metrics = createMetrics();
    metrics
      .counter('events_total', 'Events received.', {
        name: 'event',
        values: ['message.received', 'message.status'],
      })
      .inc({ event: 'message.received' }, 2);
    metrics.gauge('open_requests', 'Requests open now.', [], (gauge) => gauge.set(7));
    metrics.histogram('commit_seconds', 'Time of a commit.', [0.1, 1]).observe(0.5);

    const { contentType, text } = await metrics.render();

    expect(contentType).toContain('text/plain; version=0.0.4');
    expect(text).toContain('events_total{event="message.received"} 2');
    expect(text).toContain('events_total{event="message.status"} 0');
    expect(text).toContain('open_requests 7');
    expect(text).toContain('commit_seconds_bucket{le="0.1"} 0');
    expect(text).toContain('commit_seconds_bucket{le="1"} 1');
    expect(text).not.toContain('process_cpu');
  });

  it('show the health of each pool of connections', async () => {
    const metrics = createMetrics();
    const health = { open: 4, busy: 3, waiting: 2, deadlineHits: 1, generation: 0, replacedPools: 0 };
    measureDatabase(metrics, { main: { health } });
    const { text } = await metrics.render();
    for (const [state, count] of Object.entries({ open: 4, busy: 3, waiting: 2 }))
      expect(text).toContain(`connector_database_connections{pool="main",state="${state}"} ${count}`);
    expect(text).toContain('connector_database_deadline_hits{pool="main"} 1');
  });

  it('keep two sets apart and do not use the global registry', async () => {
    const first = createMetrics();
    const second = createMetrics();
    first.counter('same_total', 'Same.').inc();
    second.counter('same_total', 'Same.').inc(5);

    expect((await first.render()).text).toContain('same_total 1');
    expect((await second.render()).text).toContain('same_total 5');
    expect(await register.metrics()).not.toContain('same_total');
  });

  it('include metrics of the process on request', async () => {
    const { text } = await createMetrics({ processMetrics: true }).render();
    expect(text).toContain('process_resident_memory_bytes');
  });
});
