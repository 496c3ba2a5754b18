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

/** Where the receiver finds secrets. Answers from memory: it is asked for each delivery. */
export interface SubscriptionSecrets {
  /**
   * By the id in the path; undefined asks for the first subscription. Null: there is none such. What it
   * answers is a few seconds old at most, so ask right before the check.
   */
  find(subscriptionId?: string): Promise<Subscription | null> | Subscription | null;
  /**
   * No secret of `known` fits, or the one that fits is in doubt. Reads again, no more often than it can
   * afford, and asks `fits` of each newer state; waits while a secret is being replaced. False when none did
   * in time. `bytes` is what the waiting request holds in memory.
   */
  awaitNewer(known: Subscription, bytes: number, fits: (newer: Subscription) => boolean): Promise<boolean>;
}
