/** One metric of the Prometheus text format: its header lines and its samples. */
interface Family {
  readonly head: string[];
  readonly samples: string[];
}

const HEAD = /^# (?:HELP|TYPE) (\S+)/;

/**
 * Merges the metrics of several processes, each in the Prometheus text format and distinguished by labels:
 * the format requires all samples of a metric together, under one header.
 */
export function mergeMetrics(texts: readonly string[]): string {
  const families = new Map<string, Family>();
  for (const text of texts) {
    const fresh = new Set<string>();
    let family: Family = { head: [], samples: [] };
    for (const line of text.split('\n')) {
      const name = HEAD.exec(line)?.[1];
      if (name !== undefined) {
        const known = families.get(name);
        if (known === undefined) fresh.add(name);
        family = known ?? { head: [], samples: [] };
        families.set(name, family);
        if (fresh.has(name)) family.head.push(line);
      } else if (line !== '') family.samples.push(line);
    }
  }
  return [...families.values()]
    .map(({ head, samples }) => `${[...head, ...samples].join('\n')}\n`)
    .join('\n');
}
