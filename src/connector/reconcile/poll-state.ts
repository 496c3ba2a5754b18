import type { Queryable } from '../../runtime/database/database.ts';
import { heldLease, type Lease } from '../leases/lease.ts';

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

/** Asks for a full sweep with the next good poll. */
export async function askForFullSweep(db: Queryable, accountId: string): Promise<void> {
  await db.query(
    `insert into connector.poll_states (account_id, needs_full_sweep) values ($1, true)
     on conflict (account_id) do update set needs_full_sweep = true`,
    [accountId],
  );
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
