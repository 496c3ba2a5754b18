import type { Clock } from '../clock/clock.ts';
import { DatabaseUnavailable, QueryDeadlineExceeded, QueryFailed, TransactionOver } from './errors.ts';
import type { RowMode, Session } from './session.ts';
import { localLimits } from './session-parameters.ts';

/** Runs statements of one transaction, or of a savepoint in it. */
export interface TransactionScope {
  /** `deadlineMs` may shorten the time left; past it the whole transaction is given up. */
  run(text: string, params: readonly unknown[], mode: RowMode, deadlineMs?: number): Promise<unknown[]>;
  /** Runs `work` in a savepoint; an error undoes the savepoint alone. */
  savepoint<T>(work: (scope: TransactionScope) => Promise<T>): Promise<T>;
}

export interface TransactionOptions {
  /** For all of it; the caller ends the session when it is over. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  /** Told when a statement missed a shorter deadline of its own. */
  readonly onDeadline: () => void;
}

/**
 * Runs `work` between BEGIN and COMMIT on one session. Once this has rejected, the scope refuses every
 * statement and whatever `work` still does is ignored: it can neither commit nor reach another connection.
 * Throws what `work` threw, after ROLLBACK.
 */
export async function runTransaction<T>(
  session: Session,
  options: TransactionOptions,
  work: (scope: TransactionScope) => Promise<T>,
): Promise<T> {
  let over: { readonly cause?: unknown } | undefined;
  let firstFailure: unknown;
  let savepoints = 0;

  const scope: TransactionScope = {
    async run(text, params, mode, deadlineMs) {
      if (over !== undefined) throw new TransactionOver(over.cause);
      const stop = deadlineMs === undefined ? undefined : limitStatement(session, options, deadlineMs);
      try {
        return await session.run(text, params, { mode, decisive: false });
      } catch (error) {
        firstFailure ??= error;
        throw error;
      } finally {
        stop?.();
      }
    },
    async savepoint(inner) {
      savepoints += 1;
      const name = `s${savepoints}`;
      await scope.run(`savepoint ${name}`, [], 'objects');
      try {
        const result = await inner(scope);
        await scope.run(`release savepoint ${name}`, [], 'objects');
        return result;
      } catch (error) {
        await scope.run(`rollback to savepoint ${name}`, [], 'objects');
        firstFailure = undefined;
        throw error;
      }
    },
  };

  await session.runScript(`begin; ${localLimits(options.deadlineMs)}`);
  let result: T;
  try {
    result = await untilEnd(session, work(scope));
    over = {};
  } catch (error) {
    over = { cause: error };
    await rollBack(session);
    throw error;
  }
  await commit(session, firstFailure);
  return result;
}

function limitStatement(session: Session, options: TransactionOptions, deadlineMs: number): () => void {
  return options.clock.after(deadlineMs, () => {
    options.onDeadline();
    session.end(new QueryDeadlineExceeded(deadlineMs, 'running a query in a transaction', false));
  });
}

/** The outcome of `work`, or the end of the session if that comes first. */
function untilEnd<T>(session: Session, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = session.onEnd(reject);
    work.then(resolve, reject).finally(stop);
  });
}

async function rollBack(session: Session): Promise<void> {
  if (!session.alive) return;
  try {
    await session.runScript('rollback');
  } catch (error) {
    const cause = error instanceof Error ? error : undefined;
    session.end(new DatabaseUnavailable('lost', 'a transaction could not be rolled back', { cause }));
  }
}

async function commit(session: Session, firstFailure: unknown): Promise<void> {
  const tag = await session.runScript('commit', { decisive: true });
  if (tag === 'COMMIT') return;
  // Postgres answers COMMIT with ROLLBACK, and no error, when a statement had failed.
  throw firstFailure ?? new QueryFailed('the transaction was rolled back instead of committed', '25P02');
}
