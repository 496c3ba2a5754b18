import { type Spread, spreadOf } from './statistics.ts';

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
