import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { leases, processes } from './lease-tables.ts';

/**
 * A piece of work that one process does at a time, held while its process lives. A process may be taken for dead
 * and come back, so holding protects nothing by itself: every write of a holder names its `fence`, and a holder
 * that was replaced writes nothing more.
 */
export interface Lease {
  /** Kind and id, separated by the first colon: `poll:default`. */
  readonly name: string;
  /** Given once, to one holder. */
  readonly fence: number;
}

/**
 * SQL: a row while the lease is that of the holder with this fence, and no other holder before the commit of the
 * statement; none otherwise. Takes SQL expressions.
 */
export function heldLease(name: string, fence: string): string {
  return `SELECT FROM connector.leases WHERE name = ${name} AND fence = ${fence}::bigint FOR SHARE`;
}

/**
 * SQL: true when a living process holds the lease with this name. Takes a SQL expression, whose columns need the name
 * of their table: a bare `id` is that of the process.
 */
export function heldByLiving(name: string): string {
  return `EXISTS (SELECT FROM connector.leases held JOIN connector.processes living ON living.id = held.owner
    WHERE held.name = ${name})`;
}

/** For drizzle: a condition that is true while the lease is held, as `heldLease`. */
export function isHeld({ name, fence }: Lease): SQL {
  return sql`exists (select from ${leases} where ${leases.name} = ${name} and ${leases.fence} = ${fence} for share)`;
}

/** For drizzle: true when a living process holds the lease of this kind and id, as `heldByLiving`. */
export function isHeldByLiving(kind: string, id: PgColumn): SQL {
  return sql`exists (select from ${leases} join ${processes} on ${processes.id} = ${leases.owner} where ${leases.name} = ${`${kind}:`} || ${id})`;
}
