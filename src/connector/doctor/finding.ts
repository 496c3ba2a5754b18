/**
 * What a check came to: all is well; something is worth a look; something is wrong and will not mend itself; or
 * it could not be looked at, for the reason given.
 */
export type Verdict = 'ok' | 'warning' | 'problem' | 'not_checked';

/** One thing that a check has to say. No text of it ever holds a secret. */
export interface Finding {
  readonly verdict: Verdict;
  /** What is so, in one sentence. */
  readonly says: string;
  /** How that is known: figures, times, codes. */
  readonly evidence: readonly string[];
  /** What to do about it, the first thing first. */
  readonly advice: readonly string[];
}

/** A finding as it is reported. */
export interface Report extends Finding {
  readonly check: string;
  readonly title: string;
  readonly accountId?: string;
  /** The check itself broke, or took too long: what it would have said is not known. */
  readonly broken?: true;
}

/** One cause that is looked for. Looks and never changes anything. */
export interface Check<Input> {
  readonly id: string;
  /** What is looked at, in a few words. */
  readonly title: string;
  /** May throw: that is reported as not checked. */
  readonly look: (input: Input) => Promise<Finding | readonly Finding[]>;
}

type Told = Partial<Pick<Finding, 'evidence' | 'advice'>>;

const tell =
  (verdict: Verdict) =>
  (says: string, { evidence = [], advice = [] }: Told = {}): Finding => ({ verdict, says, evidence, advice });

export const ok = tell('ok');
export const warning = tell('warning');
export const problem = tell('problem');
export const notChecked = tell('not_checked');
