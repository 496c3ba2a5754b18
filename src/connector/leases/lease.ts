import type { Queryable } from '../../runtime/database/database.ts';

/**
 * A piece of work that one process does at a time. Times decide who may take it, and clocks differ and
 * processes freeze, so times protect nothing: every write of a holder names its `fence`, and a holder that
 * was replaced writes nothing more.
 */
export interface Lease {
  readonly name: string;
  readonly fence: number;
}

/** Takes the lease for `ttlMs` when it is free or has run out at `now`; null when somebody holds it. */
export async function takeLease(
  db: Queryable,
  request: { readonly name: string; readonly owner: string; readonly now: number; readonly ttlMs: number },
): Promise<Lease | null> {
  const [row] = await db.query<{ fence: number }>(
    `insert into connector.leases as held (name, owner, fence, expires_at) values ($1, $2, 1, $4::bigint)
     on conflict (name) do update
       set owner = excluded.owner, fence = held.fence + 1, expires_at = excluded.expires_at
       where held.expires_at <= $3::bigint
     returning fence`,
    [request.name, request.owner, request.now, request.now + request.ttlMs],
  );
  return row === undefined ? null : { name: request.name, fence: row.fence };
}

/** Holds on for `ttlMs` more; false when somebody else has it by now. */
export async function renewLease(db: Queryable, lease: Lease, now: number, ttlMs: number): Promise<boolean> {
  const rows = await db.query(
    'update connector.leases set expires_at = $3::bigint where name = $1 and fence = $2 returning name',
    [lease.name, lease.fence, now + ttlMs],
  );
  return rows.length > 0;
}

/** Lets go. The row stays, since its fence must go on rising. */
export async function releaseLease(db: Queryable, lease: Lease): Promise<void> {
  await db.query('update connector.leases set expires_at = 0 where name = $1 and fence = $2', [
    lease.name,
    lease.fence,
  ]);
}
