import type { Deadline } from '../../runtime/clock/deadline.ts';

/** The subscription that comes from configuration. Fixed, so that replicas agree on it. */
export const FIRST_SUBSCRIPTION_ID = 'default';

/** A signing secret and how long it is good. */
export interface SubscriptionSecret {
  readonly secret: string | Uint8Array;
  /** Rises with each secret of the subscription; kept with what it has signed. */
  readonly version?: number;
  /** Good for signed timestamps up to this one, epoch ms. Absent: no end. */
  readonly maxTimestamp?: number;
  /** Good until then on our clock, epoch ms. Absent: no end. */
  readonly acceptUntil?: number;
  /** It is being replaced: whether it is good for later signed timestamps is not known yet. */
  readonly doubtfulAfter?: number;
}

/** A webhook path's subscription as the receiver needs it. */
export interface Subscription {
  readonly subscriptionId: string;
  /** Whose events arrive here; see `unclaimedAccount` where several accounts share it. */
  readonly accountId: string;
  readonly secrets: readonly SubscriptionSecret[];
}

/**
 * What became of waiting for a newer secret: one `fits`, the stored ones are certain and `none` fits, or it stayed
 * `unknown` which secret holds: the store was silent, or a secret was being replaced until the deadline.
 */
export type Newer = 'fits' | 'none' | 'unknown';

/** Where the receiver finds secrets. Answers from memory: it is asked for each delivery. */
export interface SubscriptionSecrets {
  /**
   * Whether there is a subscription with the id in the path; undefined asks for the first one. One that is in memory
   * is known without a look at the store. Rejects when the store cannot be read by the deadline.
   */
  isKnown(subscriptionId: string | undefined, deadline: Deadline): Promise<boolean> | boolean;
  /**
   * By the id in the path; undefined asks for the first subscription. Null: there is none such. What it answers is a
   * few seconds old at most, so ask right before the check; only while the store cannot be read is it older. Rejects
   * for one that is not in memory, when the store cannot be read by the deadline.
   */
  find(
    subscriptionId: string | undefined,
    deadline: Deadline,
  ): Promise<Subscription | null> | Subscription | null;
  /**
   * No secret of `known` fits, or the one that fits is in doubt. Reads again, no more often than it can afford, and
   * asks `fits` of each newer state; waits until the deadline while a secret is being replaced. Never rejects.
   */
  awaitNewer(known: Subscription, deadline: Deadline, fits: (newer: Subscription) => boolean): Promise<Newer>;
}
