/**
 * Result of a check: all is well; something deserves attention; something is wrong and will not resolve itself;
 * or it could not be checked, for the reason given.
 */
export type Verdict = 'ok' | 'warning' | 'problem' | 'not_checked';

/** One result of a check. None of its texts contains a secret. */
export interface Finding {
  readonly verdict: Verdict;
  /** The result in one sentence. */
  readonly says: string;
  /** The evidence: figures, times, codes. */
  readonly evidence: readonly string[];
  /** What to do, most important first. */
  readonly advice: readonly string[];
  /** What programs compare: the texts are only read by people. */
  readonly code?: string | undefined;
}

export interface Report extends Finding {
  readonly check: string;
  readonly title: string;
  readonly accountId?: string;
  /** The check itself failed or took too long, so its result is unknown. */
  readonly broken?: true;
}

/** Checks for one cause. Changes nothing. */
export interface Check<Input> {
  readonly id: string;
  /** What is checked, in a few words. */
  readonly title: string;
  /** May throw, which is reported as not checked. */
  readonly run: (input: Input) => Promise<Finding | readonly Finding[]>;
}

type Details = Partial<Pick<Finding, 'evidence' | 'advice' | 'code'>>;

const create =
  (verdict: Verdict) =>
  (says: string, { evidence = [], advice = [], code }: Details = {}): Finding => ({
    verdict,
    says,
    evidence,
    advice,
    ...(code === undefined ? {} : { code }),
  });

export const ok = create('ok');
export const warning = create('warning');
export const problem = create('problem');
export const notChecked = create('not_checked');
