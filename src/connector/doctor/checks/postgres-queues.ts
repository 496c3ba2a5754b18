import type { StoreFacts } from '../facts.ts';
import { type Check, notChecked, ok, problem } from '../finding.ts';

/** The queues on Postgres have their tables, and the user may use them. */
export const postgresQueues: Check<StoreFacts> = {
  id: 'queues',
  title: 'queues on Postgres',
  async look({ settings, database }) {
    if (settings.redisUrl !== undefined) return notChecked('The queues are on Redis.');
    const [row] = await database.query<{ present: boolean; allowed: boolean }>(
      `select to_regnamespace('queue') is not null as present,
              coalesce((select bool_and(has_table_privilege(c.oid, 'SELECT') and has_table_privilege(c.oid, 'INSERT')
                                        and has_table_privilege(c.oid, 'UPDATE') and has_table_privilege(c.oid, 'DELETE'))
                          from pg_class c join pg_namespace n on n.oid = c.relnamespace
                         where n.nspname = 'queue' and c.relkind = 'r'), true) as allowed`,
    );
    if (row?.present !== true) {
      return problem('The schema queue is missing, so no work is woken.', {
        advice: [
          'Start the connector: it makes it. The user of DATABASE_URL must be allowed to create schemas.',
        ],
      });
    }
    if (!row.allowed) {
      return problem('The user may not use the tables of the schema queue.', {
        advice: ['Make the user of DATABASE_URL their owner, or grant it SELECT, INSERT, UPDATE and DELETE.'],
      });
    }
    return ok('The queues have their tables.');
  },
};
