import { NAME } from './names.ts';
import type { Difference } from './observe.ts';
import type { Replayed } from './replay.ts';
import type { Cause, Scenario } from './scenario.ts';

/** Replays a scenario with fewer causes. */
export type Try = (scenario: Scenario) => Promise<Replayed>;

export interface ShrinkOptions {
  /** Called after each replay. */
  readonly onTry?: (progress: { readonly tries: number; readonly causes: number }) => void;
  /** Ends the search; the smallest scenario so far is the result. */
  readonly signal?: AbortSignal;
}

/** What has to remain of a difference: its field, and whether the connector has it; of a refusal, its cause and code. */
function kindOf({ of, field, actual }: Difference): string {
  if (field === 'response') return `${of} ${actual.split(':', 1)[0]}`;
  return `${field}${of.endsWith('in the connector') ? ' in the connector' : ''}`;
}

/**
 * Drops causes while a difference of the scenario remains, in whichever message or connection: the first one that two
 * replays show. First halves are dropped, then smaller parts, in the end single causes: delta debugging (Zeller, 2002).
 * A smaller scenario counts only if it shows the difference twice, because a race may show it once.
 * Resolves with null if there is no such difference.
 */
export async function shrink(
  scenario: Scenario,
  attempt: Try,
  { onTry, signal }: ShrinkOptions = {},
): Promise<Scenario | null> {
  let tries = 0;
  // What was observed with all causes says nothing about fewer: only what disagrees within a replay counts.
  const replayed = async (causes: readonly Cause[]): Promise<Replayed> => {
    const result = await attempt({ ...scenario, causes, observations: [] });
    tries += 1;
    onTry?.({ tries, causes: causes.length });
    return result;
  };
  const kindsOf = ({ differences }: Replayed): string[] => differences.filter(isDisagreement).map(kindOf);
  let last = await replayed(scenario.causes);
  const again = kindsOf(await replayed(scenario.causes));
  const wanted = kindsOf(last).find((kind) => again.includes(kind));
  if (wanted === undefined) return null;
  const shows = async (causes: readonly Cause[]): Promise<boolean> => {
    for (let times = 0; times < 2; times += 1) {
      const result = await replayed(causes);
      if (!kindsOf(result).includes(wanted)) return false;
      last = times === 0 ? last : result;
    }
    return true;
  };

  let { causes } = scenario;
  const isOver = (): boolean => signal?.aborted === true;
  for (let parts = 2; causes.length > 1 && !isOver(); ) {
    const size = Math.ceil(causes.length / parts);
    let smaller: readonly Cause[] | undefined;
    for (let from = 0; from < causes.length && smaller === undefined && !isOver(); from += size) {
      const rest = causes.toSpliced(from, size);
      if (await shows(rest)) smaller = rest;
    }
    if (smaller !== undefined) {
      causes = smaller;
      parts = Math.max(2, parts - 1);
    } else if (parts >= causes.length) break;
    else parts = Math.min(causes.length, parts * 2);
  }
  return { ...scenario, causes, names: usedNames(scenario, causes), observations: last.observations };
}

/** Whether a difference is within one replay, and not to what was recorded. */
function isDisagreement({ of, field }: Difference): boolean {
  return of.endsWith('in the connector') || field === 'response';
}

/** The names that causes use, directly or in the definition of another name. */
function usedNames({ names }: Scenario, causes: readonly Cause[]): Scenario['names'] {
  const used = new Set<string>();
  const visit = (text: string): void => {
    for (const name of text.match(NAME) ?? []) {
      if (!Object.hasOwn(names, name) || used.has(name)) continue;
      used.add(name);
      visit(JSON.stringify(names[name]));
    }
  };
  visit(JSON.stringify(causes));
  return Object.fromEntries(Object.entries(names).filter(([name]) => used.has(name)));
}
