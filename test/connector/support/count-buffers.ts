import type { Queryable, QueryOptions } from '../../../src/runtime/database/database.ts';

/** Runs statements and counts the pages of the database that each of them reads. */
export interface CountingDatabase extends Queryable {
  /** Pages of all statements since the last look. */
  takeCount(): number;
}

/** Explains every statement before it runs it. For statements that only read. */
export function countBuffers(database: Queryable): CountingDatabase {
  let count = 0;
  return {
    async query<Row extends object>(
      text: string,
      params: readonly unknown[] = [],
      options?: QueryOptions,
    ): Promise<Row[]> {
      const [row] = await database.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
        `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
        params,
      );
      const plan = row?.['QUERY PLAN'][0].Plan ?? {};
      count += (plan['Shared Hit Blocks'] ?? Number.NaN) + (plan['Shared Read Blocks'] ?? Number.NaN);
      return await database.query<Row>(text, params, options);
    },
    takeCount() {
      const taken = count;
      count = 0;
      return taken;
    },
  };
}
