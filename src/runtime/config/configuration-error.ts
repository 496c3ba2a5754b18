export interface ConfigurationProblem {
  readonly setting: string;
  /** What was found, what is allowed and what to do. Never the value of a secret. */
  readonly problem: string;
}

/** Thrown if the configuration cannot be used. Its message lists every problem, one per line. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly code = 'configuration';
  readonly problems: readonly ConfigurationProblem[];

  constructor(problems: readonly ConfigurationProblem[]) {
    const title =
      problems.length === 1 ? 'A setting is invalid:' : `${problems.length} settings are invalid:`;
    super([title, ...problems.map(({ setting, problem }) => `  ${setting}: ${problem}`)].join('\n'));
    this.problems = problems;
  }
}
