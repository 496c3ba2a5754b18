/** The time of the domain: trials, licences, `createdAt`, payload timestamps. Virtual, and only forward. */
export interface DomainClock {
  /** Virtual time in epoch ms; never less than what it said before. */
  now(): number;
}

/** A timer that has fired, or will. */
export interface TimerEntry {
  readonly id: string;
  /** Virtual epoch ms at which it is due. */
  readonly at: number;
  /** Its kind, for people. */
  readonly what: string;
}

/** The hand on the domain clock. */
export interface VirtualTime extends DomainClock {
  readonly frozen: boolean;
  /**
   * Moves virtual time forward at once, by `ms` or to the epoch ms `to`. Everything due on the way fires in
   * order, each at its own time, while the API's writes wait. Throws `invalid_request` for a step back.
   */
  advance(step: { readonly ms: number } | { readonly to: number }): Promise<{ now: number; fired: TimerEntry[] }>;
  /** Stops virtual time; only `advance` moves it then. Answers the time it stands at. */
  freeze(): Promise<number>;
  /** Lets virtual time run with the wall clock again, from where it stands. */
  run(): Promise<number>;
  /** What fires next, soonest first. */
  due(limit: number): Promise<TimerEntry[]>;
  /** Fires what is due by now. Runs by itself while time runs; a test calls it to be sure. */
  fireDue(): Promise<TimerEntry[]>;
}
