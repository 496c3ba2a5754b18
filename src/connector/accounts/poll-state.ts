import { and, eq, sql } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { heldByLiving, isHeld, type Lease } from '../db/lease.ts';
import { pollStates } from '../db/sync-tables.ts';
import { dueAtSql } from '../work/planned.ts';

/** The kind of lease under which an account is polled. The rest of the lease name is the account. */
export const POLL = 'poll';

/** The state of polling of an account. Times are epoch milliseconds of our clock unless stated otherwise. */
export type PollState = Readonly<
  Pick<
    typeof pollStates.$inferSelect,
    | 'dueAt'
    | 'lastStartedAt'
    | 'lastGoodAt'
    /** Service time. */
    | 'lastGoodReference'
    | 'failures'
    | 'lastErrorCode'
    | 'lastErrorAt'
    | 'notBefore'
    | 'askedToWait'
    | 'refusedCredentialVersion'
    | 'needsFullSweep'
    | 'unresolved'
  >
>;

/** The state of an account that was never polled. */
export const FRESH: PollState = {
  dueAt: null,
  lastStartedAt: null,
  lastGoodAt: null,
  lastGoodReference: null,
  failures: 0,
  lastErrorCode: null,
  lastErrorAt: null,
  notBefore: null,
  askedToWait: false,
  refusedCredentialVersion: null,
  needsFullSweep: true,
  unresolved: 0,
};

/** Reads the state; an initial one if the account was never polled. */
export async function readPollState(db: Queryable, accountId: string): Promise<PollState> {
  const [state] = await orm(db).select().from(pollStates).where(eq(pollStates.accountId, accountId));
  return state ?? FRESH;
}

/** A poll that was asked for starts within seconds; every worker checks what is due every 5 s. */
const LEAST_OVERDUE_MS = 15_000;

/** Whether a poll that is due, and that no failure delays, is late by more than the time between polls. */
export function isPollOverdue(state: PollState, now: number): boolean {
  const { lastStartedAt, dueAt, lastErrorCode, notBefore } = state;
  if (lastStartedAt === null || dueAt === null || dueAt <= lastStartedAt || lastErrorCode !== null)
    return false;
  return now - Math.max(dueAt, notBefore ?? 0) > Math.max(dueAt - lastStartedAt, LEAST_OVERDUE_MS);
}

/** Stores that a poll has started. */
export async function noteStarted(db: Queryable, accountId: string, now: number): Promise<void> {
  await orm(db)
    .insert(pollStates)
    .values({ accountId, lastStartedAt: now })
    .onConflictDoUpdate({ target: pollStates.accountId, set: { lastStartedAt: now } });
}

/**
 * Requests a poll at `at`, epoch ms, unless an earlier one is due. If a poll is in progress, another one
 * follows, because it started before the request. `fullSweep`: the next successful poll sweeps everything. Does
 * nothing if the account no longer exists.
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

/** Begins the polling of an account: now if it was never polled. Does nothing if the account no longer exists. */
export async function beginPolls(db: Queryable, accountId: string, now: number): Promise<void> {
  await db.query(
    `insert into connector.poll_states as p (account_id, due_at, needs_full_sweep)
     select id, $2::bigint, true from connector.accounts where id = $1
     on conflict (account_id) do update set due_at = $2
      where p.due_at is null or (p.due_at > $2 and p.last_started_at is null)`,
    [accountId, now],
  );
}

/** Which of these accounts are due, or planned too far ahead, and not polled by a living process, longest wait first. */
export async function readDueAccounts(
  db: Queryable,
  accountIds: readonly string[],
  {
    now,
    limit,
    longestWaitMs,
  }: { readonly now: number; readonly limit: number; readonly longestWaitMs: number },
): Promise<{ readonly accountId: string; readonly plannedAt: number }[]> {
  return await db.query(
    `select p.account_id as "accountId", p.due_at as "plannedAt" from connector.poll_states p
      where p.account_id = any($1::text[]) and ${dueAtSql('p.due_at', '$2::bigint', '$4::bigint')} <= $2
        and not ${heldByLiving(`'${POLL}:' || p.account_id`)}
      order by p.due_at limit $3::integer`,
    [accountIds, now, limit, longestWaitMs],
  );
}

/** The next poll, unless one was requested after `dueAt` was read. */
export interface PlannedPoll {
  readonly dueAt: number;
  readonly at: number;
}

export interface GoodPoll {
  readonly now: number;
  readonly startedAt: number;
  readonly next?: PlannedPoll | undefined;
  readonly reference: number;
  readonly swept: boolean;
  readonly unresolved: number | null;
}

/** Stores the result of a successful poll, and ends any back-off. Resolves with the next due time. */
export async function noteGood(
  db: Queryable,
  lease: Lease,
  accountId: string,
  poll: GoodPoll,
): Promise<number | null | undefined> {
  const { next } = poll;
  const [row] = await orm(db)
    .update(pollStates)
    .set({
      lastStartedAt: poll.startedAt,
      ...(next === undefined
        ? {}
        : {
            dueAt: sql`case when ${pollStates.dueAt} = ${next.dueAt} then ${next.at}::bigint else ${pollStates.dueAt} end`,
          }),
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
    .where(and(eq(pollStates.accountId, accountId), isHeld(lease)))
    .returning({ dueAt: pollStates.dueAt });
  return row?.dueAt;
}

export interface FailedPoll {
  readonly now: number;
  readonly failures: number;
  readonly code: string;
  readonly notBefore: number;
  readonly askedToWait: boolean;
  /** The version of the credential that is refused permanently; null if the failure has another cause. */
  readonly refusedCredentialVersion: number | null;
}

/** Stores a failed poll. The next successful one sweeps everything. */
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

/** Sets the time of the next poll, unless a poll was requested after `dueAt` was read. */
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

/** Polls at once after a new credential or consent: ends the back-off. The next good poll sweeps everything. */
export async function resumePolls(db: Queryable, accountId: string, now: number): Promise<void> {
  const fresh = { failures: 0, notBefore: null, askedToWait: false, refusedCredentialVersion: null };
  await orm(db)
    .update(pollStates)
    .set({ ...fresh, dueAt: now, needsFullSweep: true })
    .where(eq(pollStates.accountId, accountId));
}
