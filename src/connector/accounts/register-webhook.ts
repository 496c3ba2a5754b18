import { randomUUID } from 'node:crypto';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { holdLease, type LeaseKeeper } from '../leases/hold-lease.ts';
import type { Lease } from '../leases/lease.ts';
import type { IssuedSecret, ServiceClient } from '../service-client/service-client.ts';
import { ServiceRefusal } from '../service-client/service-errors.ts';
import { secretContext } from './account-store.ts';

/** Longer than the deadline of a `PUT` with all that is around it. */
const LEASE_TTL_MS = 60_000;
/** Deliveries signed before the secret was replaced: 3 attempts of 10 s, 1.5 s between them, and a margin. */
const PREVIOUS_ACCEPTED_MS = 35_000;

export interface RegisterOptions {
  readonly keeper: LeaseKeeper;
  readonly keyRing: KeyRing;
  readonly client: ServiceClient;
  readonly subscriptionId: string;
  /** The public HTTPS address of the receiver. */
  readonly url: string;
  readonly signal?: AbortSignal | undefined;
}

/** `registered`: a new secret was issued. `unchanged`: all was in place. `busy`: another process is at it. */
export type Registration = 'registered' | 'unchanged' | 'busy';

/**
 * Sees to it that the service delivers to `url` and that the signing secret is at hand. `PUT /webhook` voids
 * the secret of every replica even when the address stays, so it is called only when the address differs, no
 * secret is stored, or an earlier replacement was begun and never finished: then nobody knows the secret.
 * Throws a `ServiceError`, or what the database throws. Implements `Rules per endpoint`, 12-14.
 */
export async function registerWebhook(options: RegisterOptions): Promise<Registration> {
  const { keeper, subscriptionId, signal } = options;
  const name = `registration:${subscriptionId}`;
  const held = await holdLease(keeper, { name, ttlMs: LEASE_TTL_MS, signal }, (lease, holding) =>
    registerUnderLease(options, lease, holding),
  );
  return held.held ? held.value : 'busy';
}

async function registerUnderLease(
  options: RegisterOptions,
  lease: Lease,
  signal: AbortSignal,
): Promise<Registration> {
  const { keeper, client, subscriptionId, url } = options;
  const stored = await readStored(keeper.database, subscriptionId);
  // We hold the lease, so whoever left the mark is gone.
  if (!stored.pending && stored.hasSecret) {
    const current = await client.getWebhook(signal);
    if (current.url === url && current.secretSet) {
      await noteRegistered(keeper, subscriptionId, url, lease);
      return 'unchanged';
    }
  }
  await replaceSecret(options, lease, (calling) => client.putWebhook(url, calling), signal);
  return 'registered';
}

/**
 * Marks the secret as being replaced, calls the service, stores what it issued. The mark is committed before
 * the call: whoever fails a verification meanwhile waits for the new secret, and if this process dies the
 * mark tells that the stored secret is worth nothing.
 */
async function replaceSecret(
  options: RegisterOptions,
  lease: Lease,
  issue: (signal: AbortSignal) => Promise<IssuedSecret>,
  signal: AbortSignal,
): Promise<void> {
  const { keeper, subscriptionId } = options;
  const mark = `${keeper.owner}/${randomUUID()}`;
  if (!(await markPending(keeper, subscriptionId, mark, lease))) throw new LeaseLost();
  let issued: IssuedSecret;
  try {
    issued = await issue(signal);
  } catch (error) {
    // A refusal below 500 changed nothing. Anything else may have: the mark stays until a call goes through.
    if (error instanceof ServiceRefusal && error.status < 500) {
      await clearPending(keeper.database, subscriptionId, mark);
    }
    throw error;
  }
  if (await storeIssued(options, issued, mark, lease)) return;
  // Another process took over while the call was out. Which of the two calls came last, nobody can tell.
  await markAbandoned(keeper, subscriptionId);
  throw new LeaseLost();
}

/** Somebody else took over in the middle of a registration; it is to be run again. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';

  constructor() {
    super('another process took over the registration of the webhook');
  }
}

async function readStored(
  db: Queryable,
  subscriptionId: string,
): Promise<{ hasSecret: boolean; pending: boolean }> {
  const [row] = await db.query<{ hasSecret: boolean; pending: boolean }>(
    `select sealed_secret is not null as "hasSecret", rotation_pending_owner is not null as pending
     from connector.subscriptions where id = $1`,
    [subscriptionId],
  );
  return row ?? { hasSecret: false, pending: false };
}

const GUARD = 'exists (select from connector.leases where name = $2 and fence = $3 for share)';

async function noteRegistered(keeper: LeaseKeeper, id: string, url: string, lease: Lease): Promise<void> {
  await keeper.database.query(
    `update connector.subscriptions
     set registered_url = $4, registered_at = coalesce(registered_at, $5)
     where id = $1 and ${GUARD} and (registered_url is distinct from $4 or registered_at is null)`,
    [id, lease.name, lease.fence, url, keeper.clock.now()],
  );
}

async function markPending(keeper: LeaseKeeper, id: string, mark: string, lease: Lease): Promise<boolean> {
  const rows = await keeper.database.query(
    `update connector.subscriptions set rotation_pending_owner = $4, rotation_pending_at = $5
     where id = $1 and ${GUARD} returning id`,
    [id, lease.name, lease.fence, mark, keeper.clock.now()],
  );
  return rows.length > 0;
}

async function clearPending(db: Database, id: string, mark: string): Promise<void> {
  await db.query(
    `update connector.subscriptions set rotation_pending_owner = null, rotation_pending_at = null
     where id = $1 and rotation_pending_owner = $2`,
    [id, mark],
  );
}

async function storeIssued(
  { keeper, keyRing, subscriptionId, url }: RegisterOptions,
  issued: IssuedSecret,
  mark: string,
  lease: Lease,
): Promise<boolean> {
  const now = keeper.clock.now();
  // The `Date` of an answer is cut to the second; the old secret may have signed until the end of it.
  const lastSigned = issued.issuedAt === null ? now : issued.issuedAt + 999;
  const rows = await keeper.database.query(
    `update connector.subscriptions
     set sealed_previous_secret = sealed_secret,
         previous_max_timestamp = case when sealed_secret is null then null else $6::bigint end,
         previous_accept_until = case when sealed_secret is null then null else $7::bigint end,
         sealed_secret = $5, secret_version = secret_version + 1,
         rotation_pending_owner = null, rotation_pending_at = null,
         registered_url = $8, registered_at = $9
     where id = $1 and ${GUARD} and rotation_pending_owner = $4 returning id`,
    [
      subscriptionId,
      lease.name,
      lease.fence,
      mark,
      await keyRing.seal(issued.secret, secretContext(subscriptionId)),
      lastSigned,
      now + PREVIOUS_ACCEPTED_MS,
      url,
      now,
    ],
  );
  return rows.length > 0;
}

async function markAbandoned(keeper: LeaseKeeper, id: string): Promise<void> {
  await keeper.database.query(
    `update connector.subscriptions set rotation_pending_owner = 'abandoned', rotation_pending_at = $2
     where id = $1`,
    [id, keeper.clock.now()],
  );
}
