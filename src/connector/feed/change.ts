/** A numbered change, as the feed hands it on. `at` is epoch ms. */
export interface Change {
  readonly seq: number;
  readonly type: string;
  readonly at: number;
  readonly accountId: string;
  readonly connectionId: string;
  readonly messageId: string | null;
  readonly data: unknown;
}

/** Narrows the feed; an absent field takes all. */
export interface ChangeFilter {
  readonly accountId?: string;
  readonly connectionId?: string;
}
