import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export type { Gauge } from 'prom-client';

/**
 * A label whose values are all known. Each starts at 0, because an increase is not visible for a series that
 * appears with its first event.
 */
export interface ClosedLabel<Name extends string, Value extends string> {
  readonly name: Name;
  readonly values: readonly Value[];
}

/** The argument of an event: nothing, or one of the values of its label. */
type Event<Name extends string, Value extends string> = [Name] extends [never]
  ? []
  : [labels: Readonly<Record<Name, Value>>];

export interface EventCounter<Name extends string, Value extends string> {
  inc(...event: [...Event<Name, Value>, count?: number]): void;
}

export interface SizeHistogram<Name extends string, Value extends string> {
  /** Starts a timer; the returned function stops it. In seconds. */
  startTimer(): () => void;
  observe(...event: [...Event<Name, Value>, size: number]): void;
}

/** A value of a metric, and the labels that it has. */
export interface Sample {
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  readonly value: number;
}

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Creates an empty set of metrics of one process. Nothing is registered globally, so several sets can exist side by
 * side. `processMetrics` adds memory, event loop and garbage collection; `labels` are added to every sample, to
 * distinguish processes.
 */
export function createMetrics(
  options: { readonly processMetrics?: boolean; readonly labels?: Readonly<Record<string, string>> } = {},
) {
  const registry = new Registry();
  registry.setDefaultLabels({ ...options.labels });
  if (options.processMetrics === true) collectDefaultMetrics({ register: registry });
  const registers = [registry];

  return {
    /** Counts events. */
    counter<Name extends string = never, Value extends string = never>(
      name: string,
      help: string,
      label?: ClosedLabel<Name, Value>,
    ): EventCounter<Name, Value> {
      const counter = new Counter({ name, help, labelNames: namesOf(label), registers });
      for (const labels of eachValue(label)) counter.inc(labels, 0);
      // Its own types accept any value of a label.
      return counter as unknown as EventCounter<Name, Value>;
    },
    /** Counts events of each value of the label `of`, which need not be known before. */
    counters<Name extends string, Value extends string>(
      name: string,
      help: string,
      of: string,
      label: ClosedLabel<Name, Value>,
    ): (value: string) => EventCounter<Name, Value> {
      const counter = new Counter({ name, help, labelNames: [of, label.name], registers });
      return (value: string) => {
        for (const labels of eachValue(label)) counter.inc({ [of]: value, ...labels }, 0);
        return {
          inc: (labels: Readonly<Record<string, string>>, count = 1) =>
            counter.inc({ [of]: value, ...labels }, count),
        } as unknown as EventCounter<Name, Value>;
      };
    },
    /** A histogram for each value of the label `of`, which need not be known before. */
    histograms(
      name: string,
      help: string,
      buckets: readonly number[],
      of: string,
    ): (value: string) => SizeHistogram<never, never> {
      const histogram = new Histogram({ name, help, buckets: [...buckets], labelNames: [of], registers });
      return (value: string) => {
        histogram.zero({ [of]: value });
        return {
          startTimer: () => histogram.startTimer({ [of]: value }),
          observe: (size: number) => histogram.observe({ [of]: value }, size),
        } as unknown as SizeHistogram<never, never>;
      };
    },
    /** Reports a current value; `collect` may read it when the metrics are requested. */
    gauge<Label extends string = never>(
      name: string,
      help: string,
      labels: readonly Label[] = [],
      collect?: (gauge: Gauge<Label>) => void | Promise<void>,
    ): Gauge<Label> {
      const gauge: Gauge<Label> = new Gauge({
        name,
        help,
        labelNames: [...labels],
        registers,
        ...(collect === undefined ? {} : { collect: (): void | Promise<void> => collect(gauge) }),
      });
      return gauge;
    },
    /** A histogram; `buckets` are in the unit that the name ends with. */
    histogram<Name extends string = never, Value extends string = never>(
      name: string,
      help: string,
      buckets: readonly number[],
      label?: ClosedLabel<Name, Value>,
    ): SizeHistogram<Name, Value> {
      const labelNames = namesOf(label);
      const histogram = new Histogram({ name, help, buckets: [...buckets], labelNames, registers });
      for (const labels of eachValue(label)) histogram.zero(labels);
      return histogram as unknown as SizeHistogram<Name, Value>;
    },
    /** The present samples of a metric; of a histogram, those of its `_count` or `_sum`. */
    async read(name: string): Promise<readonly Sample[]> {
      const metric = registry.getSingleMetric(name) ?? registry.getSingleMetric(name.replace(PART, ''));
      const { values = [] } = (await metric?.get()) ?? {};
      return values.filter((sample) => !('metricName' in sample) || sample.metricName === name);
    },
    /** The content type and text of `GET /metrics`, in the Prometheus format. */
    render: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}

/** How the names of the parts of a histogram end. */
const PART = /_(?:sum|count)$/;

type AnyLabel = ClosedLabel<string, string> | undefined;

function namesOf(label: AnyLabel): string[] {
  return label === undefined ? [] : [label.name];
}

function eachValue(label: AnyLabel): Record<string, string>[] {
  return label === undefined ? [] : label.values.map((value) => ({ [label.name]: value }));
}
