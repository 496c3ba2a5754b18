import type { Exchange } from './exchange.ts';

/**
 * How binding a rule is: `must` is stated by the specification, `should` follows from it or from a standard
 * that it builds on, `reading` is our answer to a question that the specification leaves open.
 */
export type Level = 'must' | 'should' | 'reading';

/**
 * The result of a check. A violated rule of level `reading` `differs`; it never fails. `harness` is an error of the
 * check itself, which says nothing about what is checked.
 */
export type Result = 'pass' | 'fail' | 'skip' | 'differs' | 'harness';

/** One rule of the specification and how to check it. */
export interface Check<Context> {
  /** Dotted, from general to specific, for example `messages.limit.default`. */
  readonly id: string;
  /** Heading of the specification that contains it. */
  readonly section: string;
  /** The rule as one sentence. */
  readonly rule: string;
  readonly level: Level;
  /** What to change if the rule is violated, and what shows it done right. */
  readonly hint?: string;
  /** Timeout for this check in milliseconds; defaults to that of the run. */
  readonly timeoutMs?: number;
  /** Resolves if the rule is kept. Throws a `Violation` or a `Skip`; `RunOptions` says what anything else is. */
  run(context: Context, probe: Probe): Promise<void>;
}

/** A check without what it may have in common with others. */
export type Bare<C extends Pick<Check<never>, 'section' | 'level'>, Given extends keyof C = never> = Omit<
  C,
  'section' | 'level' | Given
> &
  Partial<Pick<C, 'section' | 'level' | Given>>;

/** Checks that have this in common, unless one of them says otherwise; each is a `must`. */
export function withCommon<C extends Pick<Check<never>, 'section' | 'level'>, Given extends keyof C = never>(
  common: Pick<C, 'section' | Given> & Partial<C>,
  checks: readonly Bare<C, Given>[],
): readonly C[] {
  return checks.map((check) => ({ level: 'must', ...common, ...check }) as unknown as C);
}

/** What a check reports besides its result, and what limits it. */
export interface Probe {
  /** Aborts when the check or the run times out or is interrupted. */
  readonly signal: AbortSignal;
  /** Adds a remark to the result, once. */
  note(text: string): void;
  /** Extends the timeout of the check: a wait requested by the service does not count. */
  extend(ms: number): void;
  /** Adds to the evidence. */
  see(exchange: Exchange): void;
}

/** What a violation comes from, if it is known. */
export interface Cause {
  /** What to change. */
  readonly hint: string;
  /** True if no further check would find anything else. */
  readonly isLast: boolean;
}

/** A violated rule, and the exchange that shows it; by default the last one of the check. */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly expected: string;
  readonly actual: string;
  readonly exchange: Exchange | undefined;
  /** What to change, if this shows more than that the rule is violated. */
  readonly hint: string | undefined;

  constructor(expected: string, actual: string, exchange?: Exchange, hint?: string) {
    super(`expected ${expected}, got ${actual}`);
    this.expected = expected;
    this.actual = actual;
    this.exchange = exchange;
    this.hint = hint;
  }
}

/** A rule that could not be checked: why, and the option that would help. */
export class Skip extends Error {
  override readonly name = 'Skip';
  readonly unlock: string | undefined;

  constructor(reason: string, unlock?: string) {
    super(reason);
    this.unlock = unlock;
  }
}
