import type { Exchange } from './exchange.ts';

/**
 * How binding a rule is: `must` is said by the specification, `should` follows from it or from a standard it
 * builds on, `reading` is our answer to a question that the specification leaves open.
 */
export type Level = 'must' | 'should' | 'reading';

/** What came out. A rule of level `reading` that is not kept `differs`; it never fails. */
export type Result = 'pass' | 'fail' | 'skip' | 'differs';

/** One rule of the specification and how to see whether it is kept. */
export interface Check<Context> {
  /** Dotted, from the general to the particular, for example `messages.limit.default`. */
  readonly id: string;
  /** Heading of the specification that says it. */
  readonly section: string;
  /** The rule as one sentence. */
  readonly rule: string;
  readonly level: Level;
  /** Longest time for this check alone, in milliseconds; that of the run unless told. */
  readonly timeoutMs?: number;
  /** Resolves when the rule is kept. Throws a `Violation` or a `Skip`; anything else counts as a failure. */
  run(context: Context, probe: Probe): Promise<void>;
}

/** What a check tells beside its verdict, and what bounds it. */
export interface Probe {
  /** Aborts when the check's time is up or the run is. */
  readonly signal: AbortSignal;
  /** Adds a remark to the result, once. */
  note(text: string): void;
  /** Gives the check more time: a wait that the other side has asked for is not its own. */
  extend(ms: number): void;
  /** Adds to the evidence. */
  see(exchange: Exchange): void;
}

/** A rule that was not kept, and the exchange that shows it: the last one of the check unless told. */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly expected: string;
  readonly actual: string;
  readonly exchange: Exchange | undefined;

  constructor(expected: string, actual: string, exchange?: Exchange) {
    super(`expected ${expected}, got ${actual}`);
    this.expected = expected;
    this.actual = actual;
    this.exchange = exchange;
  }
}

/** A rule that could not be looked at: why, and the option that would help. */
export class Skip extends Error {
  override readonly name = 'Skip';
  readonly unlock: string | undefined;

  constructor(reason: string, unlock?: string) {
    super(reason);
    this.unlock = unlock;
  }
}
