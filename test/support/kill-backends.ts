import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { withSql } from './read-connector.ts';

/**
 * Ends random backends of a database: one each `everyMs`, for `forMs`.
 * Resolves with how many.
 */
export function killBackends(
  databaseUrl: string,
  options: { readonly everyMs: number; readonly forMs: number; readonly random: () => number },
): Promise<number> {
  const end = systemClock.elapsed() + options.forMs;
  return withSql(databaseUrl, async (sql) => {
    let killed = 0;
    while (systemClock.elapsed() < end) {
      const rows = await sql`
        select pg_terminate_backend(pid) from (
          select pid, row_number() over (order by pid) - 1 as place, count(*) over () as total
            from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
        ) numbered where place = floor(${options.random()}::float8 * total)`;
      killed += rows.length;
      await systemClock.sleep(options.everyMs);
    }
    return killed;
  });
}
