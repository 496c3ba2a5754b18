import type { Difference, Verified, VerifyRequest } from '../../contract/sandbox/conditions.ts';
import { SANDBOX_PAGE } from '../../contract/sandbox/lists.ts';
import { type ConditionLists, nameEntry, readCondition } from './condition-lists.ts';

/** One expected entry. */
interface Step {
  readonly q: string;
  /** The ids of all examined entries that match. */
  readonly ids: ReadonlySet<string>;
}

type Entry = Awaited<ReturnType<ConditionLists[VerifyRequest['list']]>>[number];

/** Reads each filter once, regardless of how many steps have it. */
async function readSteps(
  lists: ConditionLists,
  { list, q: examined = '', expected }: Pick<VerifyRequest, 'list' | 'q' | 'expected'>,
): Promise<Step[]> {
  const byFilter = new Map<string, Step>();
  for (const [place, { q }] of expected.entries()) {
    readCondition(list, q, `expected.${place}.q`);
    if (byFilter.has(q)) continue;
    const matching = await lists[list](q, SANDBOX_PAGE.max, examined);
    byFilter.set(q, { q, ids: new Set(matching.map(({ id }) => id)) });
  }
  return expected.flatMap(({ q, count = 1 }) => Array.from({ length: count }, () => byFilter.get(q) as Step));
}

/** The place of the entry that each step takes, or null: the next that matches behind the one before. */
function matchInOrder(steps: readonly Step[], entries: readonly Entry[]): (number | null)[] {
  let from = 0;
  return steps.map(({ ids }) => {
    const place = entries.findIndex(({ id }, at) => at >= from && ids.has(id));
    if (place === -1) return null;
    from = place + 1;
    return place;
  });
}

/** The same in any order, for as many steps as possible. */
function matchInAnyOrder(steps: readonly Step[], entries: readonly Entry[]): (number | null)[] {
  const takenBy = new Map<number, number>();
  /** Gives the step an entry; one that has an entry may have to take another. */
  const take = (step: number, tried: Set<number>): boolean =>
    entries.some(({ id }, place) => {
      if (tried.has(place) || steps[step]?.ids.has(id) !== true) return false;
      tried.add(place);
      const holder = takenBy.get(place);
      if (holder !== undefined && !take(holder, tried)) return false;
      takenBy.set(place, step);
      return true;
    });
  for (const step of steps.keys()) take(step, new Set());
  const places = new Map([...takenBy].map(([place, step]) => [step, place]));
  return steps.map((_, step) => places.get(step) ?? null);
}

/** Compares a list with what is expected of it. Throws `invalid_request` for a filter that the list does not take. */
export async function verify(lists: ConditionLists, request: VerifyRequest): Promise<Verified> {
  const { list, q = '', anyOrder = false, only = false } = request;
  readCondition(list, q);
  const steps = await readSteps(lists, request);
  const entries: Entry[] = (await lists[list](q, SANDBOX_PAGE.max)).reverse();
  const matched = (anyOrder ? matchInAnyOrder : matchInOrder)(steps, entries);

  const missing = steps.flatMap((step, index): Difference[] =>
    matched[index] === null ? [{ kind: 'missing', place: index + 1, q: step.q }] : [],
  );
  const isUnexpected = (place: number): boolean => only && !matched.includes(place);
  const unexpected = entries.flatMap(({ id }, place): Difference[] =>
    isUnexpected(place) ? [{ kind: 'unexpected', id }] : [],
  );
  const differences = [...missing, ...unexpected];
  const isOrdered = !anyOrder && steps.length > 1;
  const explanation =
    differences.length === 0
      ? `All ${steps.length} expected entries are there${isOrdered ? ' in this order' : ''}${only ? ', and no others' : ''}.`
      : [
          ...missing.map(({ place, q: wanted }) => `- ${place}. ${wanted === '' ? 'any' : wanted}`),
          ...entries.map((entry, place) => `${isUnexpected(place) ? '+' : ' '} ${nameEntry(list, entry)}`),
        ].join('\n');
  return { holds: differences.length === 0, examined: entries.length, differences, explanation };
}
