/** Programs that are correct except for one mistake: by what each does wrong, in one sentence. */
export type Wrong<Ways> = Readonly<Record<string, Fault<Ways>>>;

export interface Fault<Ways> {
  readonly ways: Ways;
  /** What the hint of each of its findings says. */
  readonly told: RegExp;
  /** The checks that it fails, and no others. */
  readonly fails: readonly string[];
}

/** The checks, of those with these ids, that none of the programs fails. */
export const unfailed = (checks: readonly { readonly id: string }[], wrong: Wrong<unknown>): string[] => {
  const failed = Object.values(wrong).flatMap(({ fails }) => fails);
  return checks.map(({ id }) => id).filter((id) => !failed.includes(id));
};
