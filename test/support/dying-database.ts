import type { Database } from '../../src/runtime/database/database.ts';
import { aroundStatements, replaceCalls } from './replace-calls.ts';

/** The process dies before a statement is sent, or after its effect and before the answer arrives. */
export type Moment = 'before' | 'after';

/** The database of a process that dies at its statement number `at`, and does nothing afterwards. */
export function dyingDatabase(database: Database, at: number, moment: Moment) {
  let statements = 0;
  let dead = false;
  const die = (): never => {
    dead = true;
    throw new Error('the process is gone');
  };
  async function step<T>(run: () => Promise<T>): Promise<T> {
    statements += 1;
    if (dead || (statements === at && moment === 'before')) die();
    const result = await run();
    if (dead || statements === at) die();
    return result;
  }
  const stepping = aroundStatements(database, (_text, run) => step(run));
  return {
    // The commit is a separate step.
    database: replaceCalls(stepping, { transaction: (work) => step(() => stepping.transaction(work)) }),
    get died() {
      return dead;
    },
    /** The process dies now. */
    kill(): void {
      dead = true;
    },
  };
}
