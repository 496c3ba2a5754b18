import type { BenchArguments, Pace } from './arguments.ts';
import type { BenchPostgres } from './postgres/bench-postgres.ts';
import { type Child, type Commands, startChild } from './process/child.ts';

/** What every benchmark of a run shares. */
export interface BenchContext {
  readonly args: Omit<BenchArguments, keyof Pace> & Pace;
  readonly postgres: BenchPostgres;
  /** Writes a line for whoever waits. */
  progress(line: string): void;
  /** Starts a child that ends when the run is interrupted. */
  start<C extends Commands>(module: URL): Child<C>;
}

/** Binds a run's settings to what its benchmarks need. Children are killed once `signal` aborts. */
export function createContext(
  args: BenchContext['args'],
  postgres: BenchPostgres,
  progress: (line: string) => void,
  signal: AbortSignal,
): BenchContext {
  return {
    args,
    postgres,
    progress,
    start: (module) => startChild({ module, profileFolder: args.profileFolder, signal }),
  };
}
