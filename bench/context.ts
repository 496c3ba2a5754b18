import { createLogger } from '../src/runtime/logger/logger.ts';
import type { BenchArguments, Pace } from './arguments.ts';
import type { BenchPostgres } from './postgres/bench-postgres.ts';
import type { Child, Commands } from './process/child.ts';

/** What every benchmark of a run shares. */
export interface BenchContext {
  readonly args: Omit<BenchArguments, keyof Pace> & Pace;
  readonly postgres: BenchPostgres;
  /** Writes a line for whoever waits. */
  progress(line: string): void;
  /** Starts a child that ends when the run is interrupted. */
  start<C extends Commands>(module: URL): Child<C>;
}

/** The logger of this process and of its children. */
export const logger = createLogger({ level: 'warn', name: 'bench', destination: 'stderr' });
