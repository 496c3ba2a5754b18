import { type Ratio, ratioOf } from '../report/ratio.ts';
import { type Spread, spreadOf } from '../report/statistics.ts';
import type { EngineRound, EnginesResult } from './measure-engines.ts';

export interface EnginesReport {
  readonly ratios: readonly Ratio[];
  readonly engines: readonly EngineFigures[];
  readonly compiled: number;
  readonly notMeasured?: string;
}

export interface EngineFigures {
  readonly title: string;
  readonly version: string;
  readonly eventsPerSecond: Spread;
  readonly microseconds: Spread;
}

/** Turns what was measured into one ratio: what an event costs on the distribution's Postgres, over that from npm. */
export function reportEngines({ engines, compiled, notMeasured }: EnginesResult): EnginesReport {
  const [npm, installed] = engines;
  const cost = ({ microseconds }: EngineRound): number => microseconds;
  const what = "Postgres, the distribution's / from npm: processor time of an event";
  return {
    ratios:
      npm === undefined || installed === undefined
        ? []
        : [ratioOf(what, { below: 1.3 }, installed.rounds.map(cost), npm.rounds.map(cost))],
    engines: engines.map(({ title, version, rounds }) => ({
      title,
      version,
      eventsPerSecond: spreadOf(rounds.map(({ eventsPerSecond }) => eventsPerSecond)),
      microseconds: spreadOf(rounds.map(cost)),
    })),
    compiled,
    ...(notMeasured === undefined ? {} : { notMeasured }),
  };
}
