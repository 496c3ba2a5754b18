import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { unclaimedAccount } from '../inbox/assign-accounts.ts';
import type { Subscription, SubscriptionSecret, SubscriptionSecrets } from '../inbox/subscription-secrets.ts';
import { secretContext } from './account-store.ts';

/** Beyond this age what is in memory is used, and read again in the background. */
const FRESH_MS = 1_000;
/**
 * Nothing older than this is used: beyond it secrets are read again first. So whoever marks a secret as being
 * replaced, and waits this long, knows that every process has seen the mark.
 */
export const OLDEST_SECRETS_MS = 2_000;
/** Failed verifications cost one read in this time, however many there are. */
const READ_SPACING_MS = 250;
/** A request waits for a secret that is being replaced, below the 10 s after which its sender gives up. */
const HOLD_MS = 7_000;
/** A replacement that takes longer may have lost its owner, whose lease has run out by then. */
const OWNER_GONE_MS = 10_000;
/** Nobody waits for a replacement that is older. */
const PENDING_MS = 30_000;
const MOST_WAITING = 2_000;
const MOST_WAITING_BYTES = 32 * 1024 * 1024;
/** An id that is not known is not looked for again within this time. */
const UNKNOWN_MS = 1_000;

export interface SubscriptionSecretsOptions {
  readonly database: Database;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
  /** Told when a replacement of a secret was begun and its owner seems to be gone. */
  readonly onAbandonedRotation?: (subscriptionId: string) => void;
}

interface Entry {
  readonly row: SecretRow;
  /** The same object as long as nothing about its secrets changes. */
  readonly subscription: Subscription;
}

/** The secrets in memory, read again when they are old or seem to be. */
export interface CachedSubscriptionSecrets extends SubscriptionSecrets {
  /** Reads all secrets now. Throws what the database or the key ring throws. */
  load(): Promise<void>;
}

/**
 * Keeps the signing secrets of all subscriptions in memory. A secret may be replaced by another process at
 * any moment, and the old one is void at once, so nothing old is used, a failed verification reads again and,
 * while a replacement is under way, waits for it. Implements `Rules per endpoint`, 12-14.
 */
export function createSubscriptionSecrets(options: SubscriptionSecretsOptions): CachedSubscriptionSecrets {
  const { database, keyRing, clock } = options;
  let entries = new Map<string, Entry>();
  let readAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | null = null;
  let queued: Promise<void> | null = null;
  let waiting = 0;
  let waitingBytes = 0;

  async function load(): Promise<void> {
    const begun = clock.elapsed();
    triedAt = begun;
    const rows = await database.query<SecretRow>(SELECT);
    const opened = await Promise.all(rows.map((row) => openEntry(keyRing, row, entries.get(row.id))));
    entries = new Map(opened.map((entry) => [entry.row.id, entry]));
    readAt = begun;
  }

  /** A read that begins after this call, shared with everybody who asks meanwhile. */
  function readAgain(): Promise<void> {
    queued ??= (async () => {
      await reading?.catch(() => undefined);
      const wait = triedAt + READ_SPACING_MS - clock.elapsed();
      if (wait > 0) await clock.sleep(wait);
      queued = null;
      reading = load().finally(() => {
        reading = null;
      });
      await reading;
    })();
    return queued;
  }

  function lookUp(subscriptionId: string | undefined): Entry | undefined {
    if (subscriptionId !== undefined) return entries.get(subscriptionId);
    for (const entry of entries.values()) if (entry.row.isFirst) return entry;
    return undefined;
  }

  async function findAfterRead(subscriptionId: string | undefined): Promise<Subscription | null> {
    // Without the database the secrets in memory still stand; what is signed with them cannot be stored anyway.
    await readAgain().catch(() => undefined);
    return lookUp(subscriptionId)?.subscription ?? null;
  }

  async function waitForNewer(known: Subscription, fits: (newer: Subscription) => boolean): Promise<boolean> {
    const deadline = clock.elapsed() + HOLD_MS;
    let seen = known.secrets;
    while (clock.elapsed() < deadline) {
      await readAgain();
      const entry = entries.get(known.subscriptionId);
      if (entry === undefined) return false;
      const { row, subscription } = entry;
      if (subscription.secrets !== seen && fits(subscription)) return true;
      seen = subscription.secrets;
      if (row.pendingAt === null) return false;
      const age = clock.now() - row.pendingAt;
      if (age > OWNER_GONE_MS) options.onAbandonedRotation?.(row.id);
      if (age > PENDING_MS) return false;
    }
    return false;
  }

  return {
    load,
    find(subscriptionId) {
      const age = clock.elapsed() - readAt;
      const entry = lookUp(subscriptionId);
      if (entry === undefined && age < UNKNOWN_MS) return null;
      if (entry === undefined || age > OLDEST_SECRETS_MS) return findAfterRead(subscriptionId);
      if (age > FRESH_MS) void readAgain().catch(() => undefined);
      return entry.subscription;
    },
    async awaitNewer(known, bytes, fits) {
      if (waiting >= MOST_WAITING || waitingBytes + bytes > MOST_WAITING_BYTES) return false;
      waiting += 1;
      waitingBytes += bytes;
      try {
        return await waitForNewer(known, fits);
      } catch {
        return false;
      } finally {
        waiting -= 1;
        waitingBytes -= bytes;
      }
    },
  };
}

interface SecretRow {
  readonly id: string;
  readonly accountId: string | null;
  readonly isFirst: boolean;
  readonly sealed: string | null;
  readonly version: number;
  readonly sealedPrevious: string | null;
  readonly previousMaxTimestamp: number | null;
  readonly previousAcceptUntil: number | null;
  readonly pendingAt: number | null;
  readonly callAt: number | null;
}

const SELECT = `select id, account_id as "accountId", is_first as "isFirst", sealed_secret as sealed, secret_version as version,
  sealed_previous_secret as "sealedPrevious",
  previous_max_timestamp as "previousMaxTimestamp", previous_accept_until as "previousAcceptUntil",
  rotation_pending_at as "pendingAt", rotation_call_at as "callAt"
  from connector.subscriptions`;

async function openEntry(keyRing: KeyRing, row: SecretRow, known: Entry | undefined): Promise<Entry> {
  if (known !== undefined && sameSecrets(known.row, row)) return { ...known, row };
  const context = secretContext(row.id);
  const secrets: SubscriptionSecret[] = [];
  if (row.sealed !== null) {
    const doubt = row.callAt === null ? {} : { doubtfulAfter: row.callAt };
    secrets.push({ secret: await keyRing.open(row.sealed, context), version: row.version, ...doubt });
  }
  if (row.sealedPrevious !== null && row.previousMaxTimestamp !== null && row.previousAcceptUntil !== null) {
    secrets.push({
      secret: await keyRing.open(row.sealedPrevious, context),
      version: row.version - 1,
      maxTimestamp: row.previousMaxTimestamp,
      acceptUntil: row.previousAcceptUntil,
    });
  }
  return {
    row,
    subscription: { subscriptionId: row.id, accountId: row.accountId ?? unclaimedAccount(row.id), secrets },
  };
}

function sameSecrets(a: SecretRow, b: SecretRow): boolean {
  return (
    a.version === b.version &&
    a.sealed === b.sealed &&
    a.sealedPrevious === b.sealedPrevious &&
    a.previousMaxTimestamp === b.previousMaxTimestamp &&
    a.previousAcceptUntil === b.previousAcceptUntil &&
    a.callAt === b.callAt
  );
}
