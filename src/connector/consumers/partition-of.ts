import { hash } from 'node:crypto';

/** Connections are divided into this many partitions. */
export const PARTITIONS = 16;

/** The partition of a connection, 0 to 15. SQL computes the same: see `PARTITION_OF` of `dead-letters.ts`. */
export function partitionOf(connectionId: string): number {
  return (hash('sha256', connectionId, 'buffer')[0] ?? 0) & (PARTITIONS - 1);
}
