import type { AccountSync } from '../../../../src/contract/connector/sync.ts';
import { connector } from './client.ts';

/** The query for what the connector reports about its synchronization. */
export const SYNC_STATUS = {
  queryKey: ['sync', 'status'],
  queryFn: () => connector('GET', '/v1/sync'),
};

/**
 * Until when nothing is missing: the last good poll, if it left no gap; `coveredUntil` stays at the newest message, which
 * may be old. Null until a message was polled.
 */
export function completeUntil({ coveredUntil, openGaps, lastGoodPollAt }: AccountSync): string | null {
  if (coveredUntil === null || lastGoodPollAt === null || openGaps > 0) return coveredUntil;
  return lastGoodPollAt > coveredUntil ? lastGoodPollAt : coveredUntil;
}
