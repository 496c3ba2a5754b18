import { and, eq } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { heldByLiving, isHeld, type Lease } from '../db/lease.ts';
import { pollStates } from '../db/sync-tables.ts';

/** The kind of lease under which an account is polled, by account. */
export const POLL = 'poll';

/** How polling of an account stands. Times are epoch milliseconds, ours unless told otherwise. */
export type PollState = Readonly<
  Pick<
    typeof pollStates.$inferSelect,
    | 'lastStartedAt'
    | 'lastGoodAt'
    /** Service time. */
    | 'lastGoodReference'
    | 'failures'
    | 'lastErrorCode'
    | 'notBefore'
    | 'askedToWait'
    | 'refusedCredentialVersion'
    | 'needsFullSweep'
    | 'unresolved'
  >
>;

const FRESH: PollState = {
  lastStartedAt: null,
  lastGoodAt: null,
  lastGoodReference: null,
  failures: 0,
  lastErrorCode: null,
  notBefore: null,
  askedToWait: false,
  refusedCredentialVersion: null,
  needsFullSweep: true,
  unresolved: 0,
};

/** Reads the state; a fresh one when the account was never polled. */
export async function readPollState(db: Queryable, accountId: string): Promise<PollState> {
  const [state] = await orm(db).select().from(pollStates).where(eq(pollStates.accountId, accountId));
  return state ?? FRESH;
}

/** Notes that a poll begins. */
export async function noteStarted(db: Queryable, accountId: string, now: number): Promise<void> {
  await orm(db)
    .insert(pollStates)
    .values({ accountId, lastStartedAt: now })
    .onConflictDoUpdate({ target: pollStates.accountId, set: { lastStartedAt: now } });
}

/**
 * Asks for a poll at `at`, epoch ms, or sooner if one is due sooner. One that is under way began before this was asked
 * for, so another follows it. `fullSweep`: the next good poll sweeps everything. An account that is gone is left alone.
 */
export async function askForPoll(
  db: Queryable,
  accountId: string,
  { at, now, fullSweep }: { readonly at: number; readonly now: number; readonly fullSweep: boolean },
): Promise<void> {
  await db.query(
    `insert into connector.poll_states as p (account_id, due_at, needs_full_sweep)
     select id, $2::bigint, true from connector.accounts where id = $1
     on conflict (account_id) do update
       set due_at = case when p.due_at <= $3::bigint then $3::bigint else least(p.due_at, excluded.due_at) end,
           needs_full_sweep = p.needs_full_sweep or $4::boolean`,
    [accountId, at, now, fullSweep],
  );
}

/** When the account is to be polled, epoch ms; null: never, as far as anybody has asked. */
export async function readDueAt(db: Queryable, accountId: string): Promise<number | null> {
  const [row] = await orm(db)
    .select({ dueAt: pollStates.dueAt })
    .from(pollStates)
    .where(eq(pollStates.accountId, accountId));
  return row?.dueAt ?? null;
}

/** Which of these accounts are due and polled by no living process, those that wait longest first. */
export async function readDueAccounts(
  db: Queryable,
  accountIds: readonly string[],
  now: number,
  limit: number,
): Promise<readonly string[]> {
  const rows = await db.query<{ accountId: string }>(
    `select p.account_id as "accountId" from connector.poll_states p
      where p.account_id = any($1::text[]) and p.due_at <= $2::bigint
        and not ${heldByLiving(`'${POLL}:' || p.account_id`)}
      order by p.due_at limit $3::integer`,
    [accountIds, now, limit],
  );
  return rows.map((row) => row.accountId);
}

export interface GoodPoll {
  readonly now: number;
  readonly reference: number;
  readonly swept: boolean;
  readonly unresolved: number | null;
}

/** Notes a poll that went through, and ends any back-off. */
export async function noteGood(
  db: Queryable,
  lease: Lease,
  accountId: string,
  poll: GoodPoll,
): Promise<void> {
  await orm(db)
    .update(pollStates)
    .set({
      lastGoodAt: poll.now,
      lastGoodReference: poll.reference,
      failures: 0,
      lastErrorCode: null,
      notBefore: null,
      askedToWait: false,
      refusedCredentialVersion: null,
      ...(poll.swept ? { needsFullSweep: false } : {}),
      ...(poll.unresolved === null ? {} : { unresolved: poll.unresolved }),
    })
    .where(and(eq(pollStates.accountId, accountId), isHeld(lease)));
}

export interface FailedPoll {
  readonly now: number;
  readonly failures: number;
  readonly code: string;
  readonly notBefore: number;
  readonly askedToWait: boolean;
  /** The version of the credential that is refused for good; null: it was something else. */
  readonly refusedCredentialVersion: number | null;
}

/** Notes a poll that failed. The first good one afterwards sweeps everything. */
export async function noteFailed(
  db: Queryable,
  lease: Lease,
  accountId: string,
  poll: FailedPoll,
): Promise<void> {
  await orm(db)
    .update(pollStates)
    .set({
      failures: poll.failures,
      lastErrorCode: poll.code,
      lastErrorAt: poll.now,
      notBefore: poll.notBefore,
      askedToWait: poll.askedToWait,
      refusedCredentialVersion: poll.refusedCredentialVersion,
      needsFullSweep: true,
    })
    .where(and(eq(pollStates.accountId, accountId), isHeld(lease)));
}

/** Says when to poll next, unless somebody has asked for a poll since `dueAt` was read. */
export async function pollNextAt(
  db: Queryable,
  lease: Lease,
  accountId: string,
  { dueAt, at }: { readonly dueAt: number; readonly at: number },
): Promise<void> {
  await orm(db)
    .update(pollStates)
    .set({ dueAt: at })
    .where(and(eq(pollStates.accountId, accountId), eq(pollStates.dueAt, dueAt), isHeld(lease)));
}
