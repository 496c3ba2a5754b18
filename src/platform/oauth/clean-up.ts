import {
  and,
  eq,
  exists,
  gt,
  inArray,
  isNotNull,
  isNull,
  lte,
  notExists,
  or,
  type SQL,
  sql,
} from 'drizzle-orm';
import { alias, type PgColumn } from 'drizzle-orm/pg-core';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { oauthApps, oauthConsents, oauthGrants, oauthRefreshTokens } from '../db/oauth-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { ChangeState } from '../time/state-change.ts';

interface Options {
  readonly changeState: ChangeState;
  readonly clock: DomainClock;
  readonly logger: Logger;
  /** The maximum of rows that one transaction deletes. */
  readonly batch?: number;
}

/** The ended rows of one table. */
interface Ended {
  readonly table: typeof oauthConsents | typeof oauthRefreshTokens | typeof oauthGrants;
  readonly key: PgColumn;
  readonly where: (tx: Queryable, time: number) => SQL | undefined;
  /** How long rows are kept after their end. */
  readonly keptMs: number;
}

const BATCH = 1_000;

/**
 * In this order: a grant is deleted after its refresh tokens, so that its deletion cascades to few rows. Its code is
 * kept until then. The last grant of a workspace to a legacy app is kept forever: it shows that the next consent is
 * not the first.
 */
const ENDED: readonly Ended[] = [
  {
    table: oauthConsents,
    key: oauthConsents.id,
    where: (_tx, time) => lte(oauthConsents.expiresAt, time),
    keptMs: 0,
  },
  {
    table: oauthRefreshTokens,
    key: oauthRefreshTokens.hash,
    where: (_tx, time) => lte(oauthRefreshTokens.expiresAt, time),
    keptMs: 0,
  },
  { table: oauthGrants, key: oauthGrants.id, where: isGrantOver, keptMs: ASSUMPTIONS.oauthKeptMs.value },
];

const later = alias(oauthGrants, 'later');

function isGrantOver(tx: Queryable, time: number): SQL | undefined {
  const { appId, workspaceId, revokedAt, expiresAt, createdAt, position } = oauthGrants;
  const legacyApp = orm(tx)
    .select()
    .from(oauthApps)
    .where(and(eq(oauthApps.id, appId), oauthApps.legacySubscription));
  const nextConsent = orm(tx)
    .select()
    .from(later)
    .where(
      and(
        eq(later.appId, appId),
        eq(later.workspaceId, workspaceId),
        isNotNull(later.expiresAt),
        gt(later.position, position),
      ),
    );
  return and(
    or(lte(revokedAt, time), lte(sql`coalesce(${expiresAt}, ${createdAt})`, time)),
    or(isNull(expiresAt), notExists(legacyApp), exists(nextConsent)),
  );
}

/**
 * Deletes ended rows, in transactions of limited size: unanswered consents, expired refresh tokens, and grants that
 * ended long ago, with their codes. Does nothing if it ran less than an hour of virtual time ago. An error is logged,
 * and the next run deletes the rest.
 */
export function createCleanUp({ changeState, clock, logger, batch = BATCH }: Options): () => Promise<void> {
  let doneAt = Number.NEGATIVE_INFINITY;

  const remove = async ({ table, key, where, keptMs }: Ended): Promise<void> => {
    for (;;) {
      const removed = await changeState(async ({ tx, now }) => {
        const some = orm(tx)
          .select({ key })
          .from(table)
          .where(where(tx, now - keptMs))
          .limit(batch)
          .for('update', { skipLocked: true });
        return await orm(tx).delete(table).where(inArray(key, some)).returning({ key });
      });
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
      logger.warn({ err: error }, 'ended OAuth records could not be deleted');
    }
  };
}
