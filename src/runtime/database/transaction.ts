import type { Clock } from '../clock/clock.ts';
import { DatabaseUnavailable, QueryDeadlineExceeded, QueryFailed, TransactionOver } from './errors.ts';
import type { RowMode, Session } from './session.ts';
import { beginTransaction } from './session-parameters.ts';

export interface TransactionScope {
  /** `deadlineMs` can shorten the remaining time; when it passes, the whole transaction is aborted. */
  run(text: string, params: readonly unknown[], mode: RowMode, deadlineMs?: number): Promise<unknown[]>;
  /** Runs any number of statements without parameters. */
  script(text: string): Promise<void>;
}

export interface TransactionOptions {
  /** Deadline of the whole transaction; the caller ends the session when it passes. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  /** Called when a statement missed its own shorter deadline. */
  readonly onDeadline: () => void;
}

/**
 * Runs `work` between BEGIN and COMMIT on one session. Once this has rejected, the scope rejects every
 * statement and whatever `work` still does is ignored: it can neither commit nor reach another connection.
 * Throws what `work` threw, after ROLLBACK.
 */
export async function runTransaction<T>(
  session: Session,
  options: TransactionOptions,
  work: (scope: TransactionScope) => Promise<T>,
): Promise<T> {
  await session.runScript(beginTransaction(options.deadlineMs));
  const scope = new OpenTransaction(session, options);
  let result: T;
  try {
    result = await untilEnd(session, work(scope));
    scope.finish();
  } catch (error) {
    scope.finish(error);
    await rollBack(session);
    throw error;
  }
  await commit(session, scope.firstFailure);
  return result;
}

class OpenTransaction implements TransactionScope {
  /** The error of the first failed statement. After it, the transaction can no longer commit. */
  firstFailure: unknown;
  readonly #session: Session;
  readonly #options: TransactionOptions;
  #over: { readonly cause: unknown } | undefined;

  constructor(session: Session, options: TransactionOptions) {
    this.#session = session;
    this.#options = options;
  }

  finish(cause?: unknown): void {
    this.#over = { cause };
  }

  async run(
    text: string,
    params: readonly unknown[],
    mode: RowMode,
    deadlineMs?: number,
  ): Promise<unknown[]> {
    return await this.#attempt(deadlineMs, () => this.#session.run(text, params, { mode, decisive: false }));
  }

  async script(text: string): Promise<void> {
    await this.#attempt(undefined, () => this.#session.runScript(text));
  }

  async #attempt<T>(deadlineMs: number | undefined, statement: () => Promise<T>): Promise<T> {
    if (this.#over !== undefined) throw new TransactionOver(this.#over.cause);
    const stop = deadlineMs === undefined ? undefined : this.#limit(deadlineMs);
    try {
      return await statement();
    } catch (error) {
      this.firstFailure ??= error;
      throw error;
    } finally {
      stop?.();
    }
  }

  /** A shorter deadline for one statement. When it passes, the session ends, and the transaction with it. */
  #limit(deadlineMs: number): () => void {
    return this.#options.clock.after(deadlineMs, () => {
      this.#options.onDeadline();
      this.#session.end(new QueryDeadlineExceeded(deadlineMs, 'running a query in a transaction', false));
    });
  }
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
  // Postgres answers COMMIT with ROLLBACK, and no error, if a statement had failed.
  throw firstFailure ?? new QueryFailed('the transaction was rolled back instead of committed', '25P02');
}
