import { Skip } from './check.ts';

/** What some checks require besides an address: why, and the option that gives it. */
export type Needs<Name extends string, Inputs> = Readonly<
  Record<Name, { readonly why: string; readonly flag: string; given(inputs: Inputs): boolean }>
>;

/** Why a check that needs this is not asked for with these inputs; undefined if it is. */
export function findMissing<Name extends string, Inputs>(
  needs: Needs<Name, Inputs>,
  names: readonly Name[] | undefined,
  inputs: Inputs,
): Skip | undefined {
  const missing = (names ?? []).map((name) => needs[name]).filter((need) => !need.given(inputs));
  if (missing.length === 0) return undefined;
  return new Skip(missing.map(({ why }) => why).join('; '), missing.map(({ flag }) => flag).join(', '));
}
