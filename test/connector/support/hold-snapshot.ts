import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openDatabase } from '../../../src/runtime/database/database.ts';
import { silentLogger } from './event-fixtures.ts';

/** Holds a snapshot of this database with a statement, in a session of its own, as a dump does. Returns a function that ends it. */
export async function holdSnapshot(
  url: string,
  statement = 'SELECT FROM pg_class LIMIT 1',
): Promise<() => Promise<void>> {
  const database = openDatabase({ url, name: 'holder', clock: systemClock, logger: silentLogger });
  const taken = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const holding = database.transaction(
    async (tx) => {
      await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
      await tx.query(statement);
      taken.resolve();
      await released.promise;
    },
    { deadlineMs: 120_000 },
  );
  await Promise.race([taken.promise, holding]);
  return async () => {
    released.resolve();
    await holding;
    await database.close();
  };
}
