import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export type { Gauge } from 'prom-client';

/** One process's metrics. Nothing is kept in the global registry, so two of them can live side by side. */
export interface Metrics {
  /** Counts what happened. `labels` are the names of its labels. */
  counter<Label extends string = never>(
    name: string,
    help: string,
    labels?: readonly Label[],
  ): Counter<Label>;
  /** Tells a present value; `collect` may read it when metrics are asked for. */
  gauge<Label extends string = never>(
    name: string,
    help: string,
    labels?: readonly Label[],
    collect?: (gauge: Gauge<Label>) => void | Promise<void>,
  ): Gauge<Label>;
  /** Counts values by size; `buckets` in the unit that the name ends with. */
  histogram<Label extends string = never>(
    name: string,
    help: string,
    buckets: readonly number[],
    labels?: readonly Label[],
  ): Histogram<Label>;
  /** The content type and text of `GET /metrics`, in the Prometheus format. */
  render(): Promise<{ contentType: string; text: string }>;
}

/**
 * Makes an empty set of metrics. `processMetrics` adds memory, event loop and garbage collection; `labels` stand at
 * every value, so that one process can be told from another.
 */
export function createMetrics(
  options: { readonly processMetrics?: boolean; readonly labels?: Readonly<Record<string, string>> } = {},
): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ ...options.labels });
  if (options.processMetrics === true) collectDefaultMetrics({ register: registry });
  const registers = [registry];

  return {
    counter: (name, help, labels = []) => new Counter({ name, help, labelNames: [...labels], registers }),
    gauge<Label extends string>(
      name: string,
      help: string,
      labels: readonly Label[] = [],
      collect?: (gauge: Gauge<Label>) => void | Promise<void>,
    ) {
      const gauge: Gauge<Label> = new Gauge({
        name,
        help,
        labelNames: [...labels],
        registers,
        ...(collect === undefined ? {} : { collect: (): void | Promise<void> => collect(gauge) }),
      });
      return gauge;
    },
    histogram: (name, help, buckets, labels = []) =>
      new Histogram({ name, help, buckets: [...buckets], labelNames: [...labels], registers }),
    render: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}
