import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { leases, processes } from './process-tables.ts';

/**
 * A lease on work that one process does at a time. It is valid while its process is alive. A process that was
 * removed may still be running, so the lease itself protects nothing: every write names its `fence`, and the
 * writes of an earlier owner have no effect.
 */
export interface Lease {
  /** Kind and id, separated by the first colon: `poll:default`. */
  readonly name: string;
  /** The fencing token: given once, to one owner. */
  readonly fence: number;
}

/**
 * SQL: a row if the lease is valid with this fencing token, and remains so until the statement commits; no row
 * otherwise. Takes SQL expressions.
 */
export function heldLease(name: string, fence: string): string {
  return `SELECT FROM connector.leases WHERE name = ${name} AND fence = ${fence}::bigint FOR SHARE`;
}

/**
 * SQL: the living process that has the lease with this name; no row if none has. Takes a SQL expression. Its columns need
 * the name of their table: a bare `id` would be that of the process.
 */
export function livingOwner(name: string): string {
  return `SELECT held.owner FROM connector.leases held JOIN connector.processes living ON living.id = held.owner
    WHERE held.name = ${name}`;
}

/** SQL: true if a living process has the lease with this name. Takes a SQL expression, as `livingOwner`. */
export function heldByLiving(name: string): string {
  return `EXISTS (${livingOwner(name)})`;
}

/** For drizzle: a condition that is true while the lease is valid, as `heldLease`. */
export function isHeld({ name, fence }: Lease): SQL {
  return sql`exists (select from ${leases} where ${leases.name} = ${name} and ${leases.fence} = ${fence} for share)`;
}

/** For drizzle: true when a living process holds the lease of this kind and id, as `heldByLiving`. */
export function isHeldByLiving(kind: string, id: PgColumn): SQL {
  return sql`exists (select from ${leases} join ${processes} on ${processes.id} = ${leases.owner} where ${leases.name} = ${`${kind}:`} || ${id})`;
}
