import type { Logger } from '../../runtime/logger/logger.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { ChangeState } from '../time/state-change.ts';

interface Options {
  readonly changeState: ChangeState;
  readonly clock: DomainClock;
  readonly logger: Logger;
  /** Rows that one transaction removes at most. */
  readonly batch?: number;
}

/** What has ended of a table: rows `t` that fit, `$1` being a virtual time in epoch ms. */
interface Ended {
  readonly table: 'oauth_consents' | 'oauth_refresh_tokens' | 'oauth_grants';
  readonly key: 'id' | 'hash';
  readonly where: string;
  /** How long before now `$1` lies. */
  readonly keptMs: number;
}

const BATCH = 1_000;

/**
 * In this order: a grant outlives its refresh tokens, so that few rows go with it. Its code stays until then.
 * The last grant of a workspace to a legacy app stays for good: it is how the next consent is known to be another.
 */
const ENDED: readonly Ended[] = [
  { table: 'oauth_consents', key: 'id', where: 't.expires_at <= $1', keptMs: 0 },
  { table: 'oauth_refresh_tokens', key: 'hash', where: 't.expires_at <= $1', keptMs: 0 },
  {
    table: 'oauth_grants',
    key: 'id',
    where: `(t.revoked_at <= $1 OR coalesce(t.expires_at, t.created_at) <= $1)
      AND (t.expires_at IS NULL OR NOT EXISTS (
        SELECT 1 FROM platform.oauth_apps a WHERE a.id = t.app_id AND a.legacy_subscription AND NOT EXISTS (
          SELECT 1 FROM platform.oauth_grants later
          WHERE later.app_id = t.app_id AND later.workspace_id = t.workspace_id
            AND later.expires_at IS NOT NULL AND later.position > t.position)))`,
    keptMs: ASSUMPTIONS.oauthKeptMs.value,
  },
];

/**
 * Removes what has ended, in transactions of a bounded size: pages that nobody answered, refresh tokens past
 * their 30 days, grants that ended long ago with their codes. Does nothing if it did so less than an hour of
 * virtual time ago. A failure is logged, and the next hour's turn does what was left.
 */
export function createClearUp({ changeState, clock, logger, batch = BATCH }: Options): () => Promise<void> {
  let doneAt = Number.NEGATIVE_INFINITY;

  const remove = async ({ table, key, where, keptMs }: Ended): Promise<void> => {
    for (;;) {
      const removed = await changeState(({ tx, now }) =>
        tx.query(
          `DELETE FROM platform.${table} WHERE ${key} IN (
             SELECT t.${key} FROM platform.${table} t WHERE ${where} LIMIT $2 FOR UPDATE SKIP LOCKED)
           RETURNING 1`,
          [now - keptMs, batch],
        ),
      );
      if (removed.length < batch) return;
    }
  };

  return async () => {
    const now = clock.now();
    if (now - doneAt < ASSUMPTIONS.oauthClearUpEveryMs.value) return;
    doneAt = now;
    try {
      for (const ended of ENDED) await remove(ended);
    } catch (error) {
      logger.warn({ err: error }, 'what has ended of OAuth could not be removed');
    }
  };
}
