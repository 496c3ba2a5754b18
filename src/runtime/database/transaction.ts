import { DatabaseUnavailable, QueryFailed, TransactionOver } from './errors.ts';
import type { RowMode, Session } from './session.ts';
import { beginTransaction } from './session-parameters.ts';

export interface TransactionScope {
  run(text: string, params: readonly unknown[], mode: RowMode): Promise<unknown[]>;
  /** Runs any number of statements without parameters. */
  script(text: string): Promise<void>;
}

/**
 * Runs `work` between BEGIN and COMMIT on one session. Once this has rejected, the scope rejects every
 * statement and whatever `work` still does is ignored: it can neither commit nor reach another connection.
 * The caller ends the session when the deadline passes. Throws what `work` threw, after ROLLBACK.
 */
export async function runTransaction<T>(
  session: Session,
  deadlineMs: number,
  work: (scope: TransactionScope) => Promise<T>,
): Promise<T> {
  await session.runScript(beginTransaction(deadlineMs));
  const scope = new OpenTransaction(session);
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
  #over: { readonly cause: unknown } | undefined;

  constructor(session: Session) {
    this.#session = session;
  }

  finish(cause?: unknown): void {
    this.#over = { cause };
  }

  async run(text: string, params: readonly unknown[], mode: RowMode): Promise<unknown[]> {
    return await this.#attempt(() => this.#session.run(text, params, { mode, decisive: false }));
  }

  async script(text: string): Promise<void> {
    await this.#attempt(() => this.#session.runScript(text));
  }

  async #attempt<T>(statement: () => Promise<T>): Promise<T> {
    if (this.#over !== undefined) throw new TransactionOver(this.#over.cause);
    try {
      return await statement();
    } catch (error) {
      this.firstFailure ??= error;
      throw error;
    }
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
