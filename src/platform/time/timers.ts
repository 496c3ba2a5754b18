/** What is to happen at a virtual time. */
export interface NewTimer {
  readonly kind: string;
  /** Virtual epoch ms. */
  readonly dueAt: number;
  /** Stored as JSON. */
  readonly payload: object;
}
