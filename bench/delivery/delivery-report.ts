import { type Ratio, ratioOf } from '../report/ratio.ts';
import type { RowCheck } from '../report/row-check.ts';
import { type Spread, spreadOf } from '../report/statistics.ts';
import type { SenderResult } from './measure-delivery.ts';
import type { SenderName } from './senders.ts';

export interface DeliveryReport {
  readonly ratios: readonly Ratio[];
  readonly contenders: readonly SenderFigures[];
}

export interface SenderFigures {
  readonly name: SenderName;
  readonly title: string;
  readonly eventsPerSecond: Spread;
  /** Events delivered, warm-up counted. */
  readonly delivered: number;
  readonly rows: readonly RowCheck[];
  readonly broken: readonly string[];
}

/** Turns what was measured into the ratio and summaries. */
export function reportDelivery(results: readonly SenderResult[]): DeliveryReport {
  const roundsOf = (name: SenderName): readonly number[] =>
    results.find((result) => result.name === name)?.rounds ?? [];
  const ratio = ratioOf(
    'platform / bare loop: events per second',
    { atLeast: 0.5 },
    roundsOf('platform'),
    roundsOf('bare'),
  );
  return {
    ratios: [ratio],
    contenders: results.map(({ name, title, rounds, delivered, rows, broken }) => ({
      name,
      title,
      eventsPerSecond: spreadOf(rounds),
      delivered,
      rows,
      broken,
    })),
  };
}
