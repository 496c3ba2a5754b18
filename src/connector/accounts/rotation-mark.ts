import type { Queryable } from '../../runtime/database/database.ts';
import { heldLease, type Lease } from '../db/lease.ts';

/*
 * The mark of a secret that is being replaced. It is set and taken away under the lease of the registration,
 * and every statement is fenced by it.
 */
const GUARD = `exists (${heldLease('$2', '$3')})`;
const UNMARK = `rotation_pending_owner = null, rotation_pending_at = null, rotation_call_at = null,
         rotation_compromised = false`;

export interface NewMark {
  readonly subscriptionId: string;
  readonly owner: string;
  readonly now: number;
  /** No call goes out before then, epoch ms. */
  readonly callAt: number;
  readonly compromised: boolean;
}

/** What stands in the row once it is marked. */
export interface Marked {
  readonly hasSecret: boolean;
  /** A mark was there already: a call of somebody else may have voided the stored secret. */
  readonly found: boolean;
  /** When the first call may have gone out. An earlier mark keeps its time. */
  readonly callAt: number;
  readonly compromised: boolean;
}

/** Sets the mark; null when the lease is lost. */
export async function markPending(db: Queryable, lease: Lease, mark: NewMark): Promise<Marked | null> {
  const [row] = await db.query<Marked>(
    `update connector.subscriptions s
     set rotation_pending_owner = $4, rotation_pending_at = $5,
         rotation_call_at = coalesce(s.rotation_call_at, $6::bigint),
         rotation_compromised = s.rotation_compromised or $7::boolean
     from (select id, rotation_pending_owner from connector.subscriptions where id = $1 for update) old
     where s.id = old.id and ${GUARD}
     returning s.sealed_secret is not null as "hasSecret", old.rotation_pending_owner is not null as found,
               s.rotation_call_at as "callAt", s.rotation_compromised as compromised`,
    [mark.subscriptionId, lease.name, lease.fence, mark.owner, mark.now, mark.callAt, mark.compromised],
  );
  return row ?? null;
}

/** Takes this owner's mark away: the stored secret holds. */
export async function clearPending(db: Queryable, subscriptionId: string, owner: string): Promise<void> {
  await db.query(
    `update connector.subscriptions set ${UNMARK} where id = $1 and rotation_pending_owner = $2`,
    [subscriptionId, owner],
  );
}

/** Says that nobody knows which secret holds. */
export async function markAbandoned(db: Queryable, subscriptionId: string, now: number): Promise<void> {
  await db.query(
    `update connector.subscriptions
     set rotation_pending_owner = 'abandoned', rotation_pending_at = $2,
         rotation_call_at = coalesce(rotation_call_at, $2)
     where id = $1`,
    [subscriptionId, now],
  );
}

export interface StoredSecret {
  readonly subscriptionId: string;
  readonly owner: string;
  readonly sealed: string;
  /** The secret of before is good for timestamps up to this one … */
  readonly previousMaxTimestamp: number;
  /** … and on our clock until then; null: for nothing. */
  readonly previousAcceptUntil: number | null;
  /** Null: as it was. */
  readonly url: string | null;
  readonly now: number;
}

/** Puts a new secret in place and takes the mark away; false when the lease or the mark is lost. */
export async function storeIssued(db: Queryable, lease: Lease, secret: StoredSecret): Promise<boolean> {
  const rows = await db.query(
    `update connector.subscriptions
     set sealed_previous_secret = case when $7::bigint is null then null else sealed_secret end,
         previous_max_timestamp = case when $7::bigint is null then null else $6::bigint end,
         previous_accept_until = $7::bigint,
         sealed_secret = $5, secret_version = secret_version + 1, ${UNMARK},
         registered_url = coalesce($8::text, registered_url),
         registered_at = case when $8::text is null then coalesce(registered_at, $9) else $9 end
     where id = $1 and ${GUARD} and rotation_pending_owner = $4 returning id`,
    [
      secret.subscriptionId,
      lease.name,
      lease.fence,
      secret.owner,
      secret.sealed,
      secret.previousMaxTimestamp,
      secret.previousAcceptUntil,
      secret.url,
      secret.now,
    ],
  );
  return rows.length > 0;
}
