import type { Queryable } from '../../runtime/database/database.ts';
import { heldByLiving, heldLease, type Lease } from '../work/lease.ts';

/** The kind of lease under which an account is polled, by account. */
export const POLL = 'poll';

/** How polling of an account stands. Times are epoch milliseconds, ours unless told otherwise. */
export interface PollState {
  readonly lastStartedAt: number | null;
  readonly lastGoodAt: number | null;
  /** Service time. */
  readonly lastGoodReference: number | null;
  readonly failures: number;
  readonly lastErrorCode: string | null;
  readonly notBefore: number | null;
  readonly askedToWait: boolean;
  readonly refusedCredentialVersion: number | null;
  readonly needsFullSweep: boolean;
  readonly unresolved: number;
}

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
  const [state] = await db.query<PollState>(
    `select last_started_at as "lastStartedAt", last_good_at as "lastGoodAt",
            last_good_reference as "lastGoodReference", failures, last_error_code as "lastErrorCode",
            not_before as "notBefore", asked_to_wait as "askedToWait",
            refused_credential_version as "refusedCredentialVersion", needs_full_sweep as "needsFullSweep", unresolved
     from connector.poll_states where account_id = $1`,
    [accountId],
  );
  return state ?? FRESH;
}

/** Notes that a poll begins. */
export async function noteStarted(db: Queryable, accountId: string, now: number): Promise<void> {
  await db.query(
    `insert into connector.poll_states (account_id, last_started_at) values ($1, $2)
     on conflict (account_id) do update set last_started_at = excluded.last_started_at`,
    [accountId, now],
  );
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
  const [row] = await db.query<{ dueAt: number | null }>(
    'select due_at as "dueAt" from connector.poll_states where account_id = $1',
    [accountId],
  );
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

const GUARD = `exists (${heldLease('$2', '$3')})`;

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
  await db.query(
    `update connector.poll_states
     set last_good_at = $4, last_good_reference = $5, failures = 0, last_error_code = null, not_before = null,
         asked_to_wait = false, refused_credential_version = null,
         needs_full_sweep = needs_full_sweep and not $6::boolean, unresolved = coalesce($7::integer, unresolved)
     where account_id = $1 and ${GUARD}`,
    [accountId, lease.name, lease.fence, poll.now, poll.reference, poll.swept, poll.unresolved],
  );
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
  await db.query(
    `update connector.poll_states
     set failures = $4, last_error_code = $5, last_error_at = $6, not_before = $7, asked_to_wait = $8,
         refused_credential_version = $9, needs_full_sweep = true
     where account_id = $1 and ${GUARD}`,
    [
      accountId,
      lease.name,
      lease.fence,
      poll.failures,
      poll.code,
      poll.now,
      poll.notBefore,
      poll.askedToWait,
      poll.refusedCredentialVersion,
    ],
  );
}

/** Says when to poll next, unless somebody has asked for a poll since `dueAt` was read. */
export async function pollNextAt(
  db: Queryable,
  lease: Lease,
  accountId: string,
  { dueAt, at }: { readonly dueAt: number; readonly at: number },
): Promise<void> {
  await db.query(
    `update connector.poll_states set due_at = $4::bigint
      where account_id = $1 and due_at = $5::bigint and ${GUARD}`,
    [accountId, lease.name, lease.fence, at, dueAt],
  );
}
