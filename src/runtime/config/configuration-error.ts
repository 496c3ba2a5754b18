/** One thing that is wrong with the configuration. */
export interface ConfigurationProblem {
  readonly setting: string;
  /** What was found, what is allowed and what to do. Never the value of a secret. */
  readonly problem: string;
}

/** Thrown when the configuration cannot be used. Its message lists every problem, one a line. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly code = 'configuration';
  readonly problems: readonly ConfigurationProblem[];

  constructor(problems: readonly ConfigurationProblem[]) {
    const title = problems.length === 1 ? 'A setting is wrong:' : `${problems.length} settings are wrong:`;
    super([title, ...problems.map(({ setting, problem }) => `  ${setting}: ${problem}`)].join('\n'));
    this.problems = problems;
  }
}
