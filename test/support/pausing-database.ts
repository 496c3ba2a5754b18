import type { Database } from '../../src/runtime/database/database.ts';
import { replaceCalls } from './replace-calls.ts';

/** A transaction that has done all its work and waits before its COMMIT. */
export interface PausedTransaction {
  /** Resolves when it waits, with the process id of its backend. */
  readonly reached: Promise<number>;
  /** Lets it commit. */
  goOn(): void;
}

/** A database in which the next transaction can be paused right before its COMMIT. */
export function createPausingDatabase(): {
  wrap(database: Database): Database;
  pauseNext(): PausedTransaction;
} {
  let next: { reached(pid: number): void; readonly goOn: Promise<void> } | null = null;
  return {
    wrap: (database) =>
      replaceCalls(database, {
        transaction: (work, options) =>
          database.transaction(async (tx) => {
            const pause = next;
            next = null;
            const result = await work(tx);
            if (pause === null) return result;
            const [backend] = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
            pause.reached(backend?.pid ?? 0);
            await pause.goOn;
            return result;
          }, options),
      }),
    pauseNext() {
      const reached = Promise.withResolvers<number>();
      const goOn = Promise.withResolvers<void>();
      next = { reached: reached.resolve, goOn: goOn.promise };
      return { reached: reached.promise, goOn: goOn.resolve };
    },
  };
}
