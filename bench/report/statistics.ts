/** The middle of several rounds, with the lowest and the highest. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Summarises the rounds of one figure. Throws if there are none. */
export function spreadOf(rounds: readonly number[]): Spread {
  const sorted = [...rounds].sort((a, b) => a - b);
  const [min, max] = [sorted[0], sorted.at(-1)];
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  if (min === undefined || max === undefined || low === undefined || high === undefined) {
    throw new RangeError('a spread needs at least one round');
  }
  return { median: (low + high) / 2, min, max };
}

/** The value below which `share` (0 to 1) of the sorted values lie, by nearest rank; 0 if there are none. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  const rank = Math.max(1, Math.ceil(share * sorted.length));
  return sorted[rank - 1] ?? 0;
}

/** One contender's figure over another's, round by round, with the bound that we want to keep. */
export interface Ratio extends Spread {
  readonly what: string;
  readonly target: { readonly atLeast: number } | { readonly below: number };
  readonly reached: boolean;
}

/**
 * Divides two figures round by round, so that a busy stretch of the machine weighs on both sides of a ratio.
 * The median decides whether the target is reached. Throws if there are no rounds.
 */
export function ratioOf(
  what: string,
  target: Ratio['target'],
  ours: readonly number[],
  theirs: readonly number[],
): Ratio {
  const rounds = ours.slice(0, theirs.length).map((value, round) => value / (theirs[round] ?? Number.NaN));
  const spread = spreadOf(rounds);
  const reached = 'atLeast' in target ? spread.median >= target.atLeast : spread.median < target.below;
  return { what, target, reached, ...spread };
}
