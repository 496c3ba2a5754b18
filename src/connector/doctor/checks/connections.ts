import type { StoreCheckInput } from '../check-input.ts';
import { type Check, notChecked, ok, problem, warning } from '../finding.ts';
import { count } from '../wording.ts';

/** Maximum for one process: its two pools and, if Postgres carries notifications, the listening connection. */
const PER_PROCESS = 14;
const PER_PROCESS_LISTENING = 15;
const IDLE_MS = 60_000;

interface Connections {
  readonly allowed: number;
  readonly used: number;
  readonly ours: number;
  readonly idleInTransaction: number;
}

/** The server has enough free connections for another process, and no connection holds locks for long. */
export const connectionsCheck: Check<StoreCheckInput> = {
  id: 'connections',
  title: 'connections to the database',
  async run({ database, settings, clock }) {
    const [row] = await database.query<Connections>(
      `select current_setting('max_connections')::integer
                - current_setting('superuser_reserved_connections')::integer as allowed,
              count(*) filter (where backend_type = 'client backend') as used,
              count(*) filter (where application_name like 'connector-%') as ours,
              count(*) filter (where datname = current_database() and state like 'idle in transaction%'
                                 and extract(epoch from state_change) * 1000 < $1::bigint) as "idleInTransaction"
         from pg_stat_activity`,
      [clock.now() - IDLE_MS],
    );
    if (row === undefined) return notChecked('The database returned no counts.');
    const each = settings.redisUrl === undefined ? PER_PROCESS_LISTENING : PER_PROCESS;
    const evidence = [
      `${row.used} of ${row.allowed} connections are in use, ${row.ours} of them by connectors. A process uses up to ${each}.`,
    ];
    if (row.allowed - row.used < each) {
      return problem('The database has almost no free connections.', {
        evidence,
        advice: [
          'Raise max_connections, run fewer processes, or put pgbouncer in front (transaction mode, ?prepare=false in DATABASE_URL).',
        ],
      });
    }
    if (row.idleInTransaction > 0) {
      return warning('A transaction is open but idle.', {
        evidence: [
          ...evidence,
          `${count(row.idleInTransaction, 'transaction has', 'transactions have')} been idle for more than a minute.`,
        ],
        advice: [
          "Find it with: select pid, usename, application_name, query from pg_stat_activity where state like 'idle in transaction%'.",
        ],
      });
    }
    return ok('The database has free connections.', { evidence });
  },
};
