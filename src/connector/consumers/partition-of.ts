import { hash } from 'node:crypto';

/** Connections are divided into this many partitions. */
export const PARTITIONS = 16;

/** A hash costs as much as a call of a handler that does little. */
const known = new Map<string, number>();
const MAX_KNOWN = 10_000;

/** The partition of a connection, 0 to 15. SQL computes the same: see `PARTITION_OF` of `dead-letters.ts`. */
export function partitionOf(connectionId: string): number {
  const before = known.get(connectionId);
  if (before !== undefined) return before;
  const partition = (hash('sha256', connectionId, 'buffer')[0] ?? 0) & (PARTITIONS - 1);
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(connectionId, partition);
  return partition;
}
