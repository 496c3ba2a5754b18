import type { Queryable } from '../../runtime/database/database.ts';

/** A session whose snapshot or transaction keeps dead rows: Postgres removes none that it may still read. */
export interface SnapshotHolder {
  readonly pid: number;
  readonly role: string | null;
  readonly application: string;
  /** As in `pg_stat_activity`; for a standby that reports what it reads, the type of the session. */
  readonly state: string;
  /** When its transaction began, epoch ms of the server's clock. Null for a standby. */
  readonly since: number | null;
  /** The first words of its statement, up to the first value or quoted name. */
  readonly begins: string;
}

/** The session that keeps dead rows for longest; null if none does. Throws as `query` does. */
export async function readOldestSnapshot(db: Queryable): Promise<SnapshotHolder | null> {
  const [oldest] = await db.query<SnapshotHolder>(
    `select pid, usename as role, application_name as application, coalesce(state, backend_type) as state,
            (extract(epoch from xact_start) * 1000)::bigint as since,
            trim(substring(query from '^[^''"$0-9]{0,60}')) as begins
       from pg_stat_activity
      where pid <> pg_backend_pid() and (backend_xmin is not null or backend_xid is not null)
        and (datname = current_database() and backend_type <> 'autovacuum worker' or backend_type = 'walsender')
      order by greatest(age(backend_xmin), age(backend_xid)) desc, xact_start limit 1`,
  );
  return oldest ?? null;
}

/** What else keeps dead rows or the log of the server, and which sessions cannot be seen. */
export interface OtherHolders {
  /** Replication slots that nobody reads, and the log that they keep, in bytes. */
  readonly idleSlots: readonly { readonly name: string; readonly bytes: number | null }[];
  /** Prepared transactions, and when each was prepared. Epoch ms of the server's clock. */
  readonly prepared: readonly { readonly name: string; readonly since: number }[];
  /** Sessions of other roles, whose state this role may not see. */
  readonly hidden: number;
}

/** Throws as `query` does. */
export async function readOtherHolders(db: Queryable): Promise<OtherHolders> {
  const idleSlots = await db.query<{ name: string; bytes: number | null }>(
    `select slot_name as name, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), restart_lsn)::bigint as bytes
       from pg_replication_slots where not active order by slot_name`,
  );
  const prepared = await db.query<{ name: string; since: number }>(
    `select gid as name, (extract(epoch from prepared) * 1000)::bigint as since
       from pg_prepared_xacts where database = current_database() order by prepared`,
  );
  const [row] = await db.query<{ hidden: number }>(
    `select count(*) as hidden from pg_stat_activity
      where datname = current_database() and query = '<insufficient privilege>'`,
  );
  return { idleSlots, prepared, hidden: row?.hidden ?? 0 };
}

/** How many connections the server allows and has. `idleInTransaction`: for more than a minute. */
export interface Sessions {
  readonly allowed: number;
  readonly used: number;
  readonly ours: number;
  readonly idleInTransaction: number;
}

/** Throws as `query` does. */
export async function readSessions(db: Queryable, now: number): Promise<Sessions> {
  const [row] = await db.query<Sessions>(
    `select current_setting('max_connections')::integer
              - current_setting('superuser_reserved_connections')::integer as allowed,
            count(*) filter (where backend_type = 'client backend') as used,
            count(*) filter (where application_name like 'connector-%') as ours,
            count(*) filter (where datname = current_database() and state like 'idle in transaction%'
                               and extract(epoch from state_change) * 1000 < $1::bigint) as "idleInTransaction"
       from pg_stat_activity`,
    [now - 60_000],
  );
  return row ?? { allowed: 0, used: 0, ours: 0, idleInTransaction: 0 };
}
