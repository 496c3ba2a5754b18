import type { ReactNode } from 'react';

interface FactsProps {
  readonly facts: readonly (readonly [name: string, value: ReactNode])[];
}

/** Names and values, without those that are undefined. */
export function Facts({ facts, valueClass }: FactsProps & { readonly valueClass?: string }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) =>
        value === undefined ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd className={valueClass}>{typeof value === 'string' ? <bdi>{value}</bdi> : value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

/** What a thing is, as names and values: the end of its detail. */
export function About({ facts }: FactsProps) {
  return (
    <section aria-label="About">
      <h2>About</h2>
      <Facts facts={facts} valueClass="mono" />
    </section>
  );
}
