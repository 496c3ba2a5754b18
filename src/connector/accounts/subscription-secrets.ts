import type { Clock } from '../../runtime/clock/clock.ts';
import type { Deadline } from '../../runtime/clock/deadline.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { UNCLAIMED } from '../db/facts.ts';
import { secretContext } from '../db/sealed-columns.ts';
import { readSecrets, type SecretRow } from './subscription-store.ts';

/** The subscription that comes from configuration, at the path without an id. Fixed, so that replicas agree on it. */
export const FIRST_SUBSCRIPTION_ID = 'default';

/**
 * Placeholder account for events of a subscription that several accounts share, until the owner of their
 * connection is known. A row created under it belongs to the first account that lists the connection, and a message to
 * the account of its connection that reports it next, as a poll does after that listing.
 */
export function unclaimedAccount(subscriptionId: string): string {
  return `${UNCLAIMED}${subscriptionId}`;
}

/** The subscription whose accounts may claim it; null if it is an account. */
export function claimingSubscription(accountId: string): string | null {
  return accountId.startsWith(UNCLAIMED) ? accountId.slice(UNCLAIMED.length) : null;
}

/** A signing secret and the period in which it is valid. */
export interface SubscriptionSecret {
  readonly secret: string | Uint8Array;
  /** Increases with each secret of the subscription; stored with what the secret has signed. */
  readonly version?: number;
  /** Valid for signed timestamps up to this one, in epoch ms. Absent for no limit. */
  readonly maxTimestamp?: number;
  /** Valid until this time of our clock, in epoch ms. Absent for no limit. */
  readonly acceptUntil?: number;
  /** It is being replaced: whether it is valid for later signed timestamps is not known yet. */
  readonly doubtfulAfter?: number;
}

/** The subscription of a webhook path, as the receiver needs it. */
export interface Subscription {
  readonly subscriptionId: string;
  /**
   * The account whose events arrive here; see `unclaimedAccount` if several accounts share the subscription.
   */
  readonly accountId: string;
  readonly secrets: readonly SubscriptionSecret[];
}

/**
 * Result of waiting for a newer secret: one `fits`; the stored secrets are certain and `none` fits; or the
 * valid secret stayed `unknown`, because the store did not respond or a secret was being replaced until the
 * deadline.
 */
export type Newer = 'fits' | 'none' | 'unknown';

/** The receiver's source of secrets. It answers from memory, because it is called for each delivery. */
export interface SubscriptionSecrets {
  /**
   * Whether the id in the path belongs to a subscription; undefined stands for the first one. A subscription
   * in memory is known without reading the store. Rejects if the store cannot be read by the deadline.
   */
  isKnown(subscriptionId: string | undefined, deadline: Deadline): Promise<boolean> | boolean;
  /**
   * The subscription with the id in the path; undefined stands for the first one. Null if there is none. The
   * result is at most a few seconds old, so call it right before the check; it is older only while the store
   * cannot be read. Rejects for a subscription that is not in memory if the store cannot be read by the
   * deadline.
   */
  find(
    subscriptionId: string | undefined,
    deadline: Deadline,
  ): Promise<Subscription | null> | Subscription | null;
  /**
   * Called when no secret of `known` fits, or when the one that fits is in doubt. Reads the store again, at a
   * limited rate, and calls `fits` with each newer state; waits until the deadline while a secret is being
   * replaced. Never rejects.
   */
  awaitNewer(known: Subscription, deadline: Deadline, fits: (newer: Subscription) => boolean): Promise<Newer>;
}

/** Older secrets are used, and read again in the background. */
const FRESH_MS = 1_000;
/**
 * While the database can be read, older secrets are not used: they are read again first. So after marking a
 * secret as being replaced and waiting this long, every process has seen the mark.
 */
export const OLDEST_SECRETS_MS = 2_000;
/** Maximum time to read all secrets; after it, those in memory are used. */
const READ_MS = 2_000;
/** Failed verifications cause at most one read in this time. */
const READ_SPACING_MS = 250;
/** An older replacement is not waited for. */
const PENDING_MS = 30_000;
/**
 * Maximum number of requests of one subscription that wait for a replacement. Unauthenticated clients can cause any
 * number; those beyond the limit get 503 at once and do not affect other subscriptions.
 */
const MAX_WAITING = 256;
/** An unknown id is not looked up again within this time. */
const UNKNOWN_MS = 1_000;

export interface SubscriptionSecretsOptions {
  readonly database: Database;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
}

interface Entry {
  readonly row: SecretRow;
  /** The same object as long as nothing about its secrets changes. */
  readonly subscription: Subscription;
}

/** The secrets in memory, read again when they are old or may be. */
export interface CachedSubscriptionSecrets extends SubscriptionSecrets {
  /** Reads all secrets now. Throws what the database or the key ring throws. */
  load(): Promise<void>;
}

/**
 * Keeps the signing secrets of all subscriptions in memory. Another process may replace a secret at any moment,
 * and the old one is invalid at once. So old secrets are not used, and a failed verification reads them again
 * and waits while a replacement is in progress. Implements `Rules per endpoint`, 12-14.
 */
export function createSubscriptionSecrets(options: SubscriptionSecretsOptions): CachedSubscriptionSecrets {
  const { database, keyRing, clock } = options;
  let entries = new Map<string, Entry>();
  let readAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | null = null;
  let queued: Promise<void> | null = null;
  /** Number of requests that wait for a replacement, by subscription. */
  const waiting = new Map<string, number>();

  async function load(): Promise<void> {
    const begun = clock.elapsed();
    triedAt = begun;
    const rows = await readSecrets(database, READ_MS);
    const opened = await Promise.all(rows.map((row) => openEntry(keyRing, row, entries.get(row.id))));
    entries = new Map(opened.map((entry) => [entry.row.id, entry]));
    readAt = begun;
  }

  /** A read that starts after this call, shared by all callers until it starts. */
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

  const lookUp = (subscriptionId = FIRST_SUBSCRIPTION_ID): Entry | undefined => entries.get(subscriptionId);

  async function findAfterRead(id: string | undefined, deadline: Deadline): Promise<Subscription | null> {
    try {
      await deadline.within(readAgain(), READ_MS);
    } catch (error) {
      // The secrets in memory remain in use: usually, what was signed with them cannot be stored now anyway.
      if (lookUp(id) === undefined) throw error;
    }
    return lookUp(id)?.subscription ?? null;
  }

  async function waitForNewer(
    known: Subscription,
    deadline: Deadline,
    fits: (newer: Subscription) => boolean,
  ): Promise<Newer> {
    const id = known.subscriptionId;
    let seen = known.secrets;
    let waits = false;
    try {
      while (deadline.leftMs > 0) {
        await deadline.within(readAgain());
        const entry = entries.get(id);
        if (entry === undefined) return 'none';
        const { row, subscription } = entry;
        if (subscription.secrets !== seen && fits(subscription)) return 'fits';
        seen = subscription.secrets;
        if (row.pendingAt === null) return 'none';
        if (clock.now() - row.pendingAt > PENDING_MS) return 'none';
        if (!waits && (waiting.get(id) ?? 0) >= MAX_WAITING) return 'unknown';
        if (!waits) waiting.set(id, (waiting.get(id) ?? 0) + 1);
        waits = true;
      }
      return 'unknown';
    } finally {
      const others = (waiting.get(id) ?? 0) - 1;
      if (waits && others > 0) waiting.set(id, others);
      else if (waits) waiting.delete(id);
    }
  }

  return {
    load,
    isKnown(subscriptionId, deadline) {
      if (lookUp(subscriptionId) !== undefined) return true;
      if (clock.elapsed() - readAt < UNKNOWN_MS) return false;
      return findAfterRead(subscriptionId, deadline).then((found) => found !== null);
    },
    find(subscriptionId, deadline) {
      const age = clock.elapsed() - readAt;
      const entry = lookUp(subscriptionId);
      if (entry === undefined && age < UNKNOWN_MS) return null;
      if (entry === undefined || age > OLDEST_SECRETS_MS) return findAfterRead(subscriptionId, deadline);
      if (age > FRESH_MS) void readAgain().catch(() => undefined);
      return entry.subscription;
    },
    awaitNewer: (known, deadline, fits) => waitForNewer(known, deadline, fits).catch(() => 'unknown'),
  };
}

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
