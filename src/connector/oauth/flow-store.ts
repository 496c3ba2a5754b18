import { and, eq, gt, isNull, lt } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { oauthFlows } from '../db/schema.ts';

/**
 * A consent as it stands. `outcome` is `connected`, or the code of a failure; null: not used, or a process died over
 * it. Times in epoch milliseconds.
 */
export type Flow = typeof oauthFlows.$inferSelect;

/** Keeps a flow, and forgets those whose time was over `forgetMs` ago. */
export async function insertFlow(
  db: Queryable,
  flow: typeof oauthFlows.$inferInsert,
  forgetMs: number,
): Promise<void> {
  await orm(db).insert(oauthFlows).values(flow);
  await orm(db)
    .delete(oauthFlows)
    .where(lt(oauthFlows.expiresAt, flow.createdAt - forgetMs));
}

/** The flow with this id; null: there is none such. */
export async function readFlow(db: Queryable, id: string): Promise<Flow | null> {
  const [flow] = await orm(db).select().from(oauthFlows).where(eq(oauthFlows.id, id));
  return flow ?? null;
}

/** The flow with this start token; null: there is none such. */
export async function readStartedFlow(db: Queryable, startId: string): Promise<Flow | null> {
  const [flow] = await orm(db).select().from(oauthFlows).where(eq(oauthFlows.startId, startId));
  return flow ?? null;
}

/** Not used, and its time is not over. */
const isOpen = (id: string, now: number) =>
  and(eq(oauthFlows.id, id), isNull(oauthFlows.usedAt), gt(oauthFlows.expiresAt, now));

/** Gives a flow to the browser with this cookie, unless one has it already. */
export async function bindFlow(db: Queryable, id: string, browser: string, now: number): Promise<void> {
  await orm(db)
    .update(oauthFlows)
    .set({ browser })
    .where(and(isOpen(id, now), isNull(oauthFlows.browser)));
}

/** Uses a flow up: true for one callback, in whichever process. False: it was used, or its time is over. */
export async function takeFlow(db: Queryable, id: string, now: number): Promise<boolean> {
  const taken = await orm(db)
    .update(oauthFlows)
    .set({ usedAt: now })
    .where(isOpen(id, now))
    .returning({ id: oauthFlows.id });
  return taken.length > 0;
}

/** Says that a flow has brought no grant, for whoever comes with it again. */
export async function noteFailure(db: Queryable, id: string, code: string): Promise<void> {
  await orm(db).update(oauthFlows).set({ outcome: code }).where(eq(oauthFlows.id, id));
}

/** Says which account a flow has given a grant. */
export async function noteConnected(db: Queryable, id: string, accountId: string): Promise<void> {
  await orm(db).update(oauthFlows).set({ outcome: 'connected', accountId }).where(eq(oauthFlows.id, id));
}
