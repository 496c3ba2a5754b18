import type { Queryable } from '../../runtime/database/database.ts';
import { type BatchResult, commitBatch } from '../db/commit-batch.ts';
import type { MessageFacts } from '../db/facts.ts';
import type { Lease } from '../db/lease.ts';
import type { PolledMessage } from '../service-client/polled.ts';
import { PROGRESS_CTES, PROGRESS_PARAMS, type ProgressChange, progressParams } from './progress.ts';
import { notedRepairs } from './repairs.ts';

export interface PageStore {
  readonly db: Queryable;
  readonly lease: Lease;
  readonly accountId: string;
  /** When the webhook was registered, epoch milliseconds; null if it never was, so nothing counts as repaired. */
  readonly registeredAt: number | null;
}

const CTES = `${PROGRESS_CTES},${notedRepairs(PROGRESS_PARAMS + 1)}`;

/**
 * Merges the messages of a page and stores the progress in one statement, under the lease. A crash leaves both
 * or neither. `applied` is false if another process polls this account now.
 */
export async function storePage(
  store: PageStore,
  messages: readonly PolledMessage[],
  change: ProgressChange,
  now: number,
): Promise<BatchResult> {
  const { db, lease, accountId, registeredAt } = store;
  return await commitBatch(db, {
    now,
    messages: messages.map((message) => toFacts(accountId, message, now)),
    via: nameWalk(change),
    fence: { lease: lease.name, fence: lease.fence },
    also: {
      ctes: CTES,
      params: [...progressParams(accountId, now, change), accountId, now, registeredAt],
    },
  });
}

/** How a trace names the walk that read a page. */
function nameWalk({ kind, saved, closed }: ProgressChange): string {
  const slot = saved[0]?.slot ?? closed[0];
  return kind === 'sweep' && slot !== undefined ? `sweep:${slot}` : kind;
}

/**
 * The status ladder only applies to outgoing messages; a status that the service shows for an incoming one is
 * ignored.
 */
function toFacts(accountId: string, message: PolledMessage, now: number): MessageFacts {
  return {
    connectionId: message.connectionId,
    messageId: message.id,
    accountId,
    source: 'poll',
    direction: message.direction,
    peer: null,
    text: message.text,
    mediaUrl: message.mediaUrl,
    mediaType: message.mediaType,
    status: message.direction === 'outgoing' ? message.status : null,
    errorMessage: message.errorMessage,
    waMessageId: message.waMessageId,
    createdAt: Number.isNaN(message.createdAt) ? now : message.createdAt,
    webhookSeen: 0,
    certain: message.certain,
  };
}
