import type { Deadline } from '../../runtime/clock/deadline.ts';

/** The subscription that comes from configuration. Fixed, so that replicas agree on it. */
export const FIRST_SUBSCRIPTION_ID = 'default';

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
