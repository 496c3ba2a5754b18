import { and, eq, gt, isNull, lt } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { oauthFlows } from '../db/schema.ts';

/**
 * A stored consent. `outcome` is `connected`, or the code of a failure; null if it was not used, or a process
 * died while using it. Times in epoch milliseconds.
 */
export type Flow = typeof oauthFlows.$inferSelect;

/** Stores a consent, and deletes those that expired more than `keptMs` ago. */
export async function insertFlow(
  db: Queryable,
  flow: typeof oauthFlows.$inferInsert,
  keptMs: number,
): Promise<void> {
  await orm(db).insert(oauthFlows).values(flow);
  await orm(db)
    .delete(oauthFlows)
    .where(lt(oauthFlows.expiresAt, flow.createdAt - keptMs));
}

/** The consent with this id; null if there is none. */
export async function readFlow(db: Queryable, id: string): Promise<Flow | null> {
  const [flow] = await orm(db).select().from(oauthFlows).where(eq(oauthFlows.id, id));
  return flow ?? null;
}

/** The consent with this start token; null if there is none. */
export async function readStartedFlow(db: Queryable, startId: string): Promise<Flow | null> {
  const [flow] = await orm(db).select().from(oauthFlows).where(eq(oauthFlows.startId, startId));
  return flow ?? null;
}

/** Not used and not expired. */
const isOpen = (id: string, now: number) =>
  and(eq(oauthFlows.id, id), isNull(oauthFlows.usedAt), gt(oauthFlows.expiresAt, now));

/** Binds a consent to the browser with this cookie, unless it is bound already. */
export async function bindFlow(db: Queryable, id: string, browser: string, now: number): Promise<void> {
  await orm(db)
    .update(oauthFlows)
    .set({ browser })
    .where(and(isOpen(id, now), isNull(oauthFlows.browser)));
}

/** Marks a consent as used: true for one callback, in any process. False if it was already used or has expired. */
export async function takeFlow(db: Queryable, id: string, now: number): Promise<boolean> {
  const taken = await orm(db)
    .update(oauthFlows)
    .set({ usedAt: now })
    .where(isOpen(id, now))
    .returning({ id: oauthFlows.id });
  return taken.length > 0;
}

/** Stores that a consent resulted in no grant, for repeated visits. */
export async function noteFailure(db: Queryable, id: string, code: string): Promise<void> {
  await orm(db).update(oauthFlows).set({ outcome: code }).where(eq(oauthFlows.id, id));
}

/** Stores the account that received the grant of a consent. */
export async function noteConnected(db: Queryable, id: string, accountId: string): Promise<void> {
  await orm(db).update(oauthFlows).set({ outcome: 'connected', accountId }).where(eq(oauthFlows.id, id));
}
