/** A signing secret and how long it is good. */
export interface SubscriptionSecret {
  readonly secret: string | Uint8Array;
  /** Good for signed timestamps up to this one, epoch ms. Absent: no end. */
  readonly maxTimestamp?: number;
  /** Good until then on our clock, epoch ms. Absent: no end. */
  readonly acceptUntil?: number;
}

/** A webhook path's subscription as the receiver needs it. */
export interface Subscription {
  readonly subscriptionId: string;
  readonly accountId: string;
  readonly secrets: readonly SubscriptionSecret[];
}

/** Where the receiver finds secrets. Answers from memory: it is asked for each delivery. */
export interface SubscriptionSecrets {
  /** By the id in the path; undefined asks for the first subscription. Null: there is none such. */
  find(subscriptionId?: string): Promise<Subscription | null> | Subscription | null;
  /**
   * A verification failed: a newer secret may be stored. Reads it again, no more often than it can afford.
   * True when the secrets changed, so that checking again makes sense.
   */
  refresh(subscriptionId: string): Promise<boolean>;
}
