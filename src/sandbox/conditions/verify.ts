import type { Difference, Verified, VerifyRequest } from '../../contract/sandbox/conditions.ts';
import { SANDBOX_PAGE } from '../../contract/sandbox/lists.ts';
import { alignInAnyOrder, alignInOrder } from './align.ts';
import { type ConditionLists, findAlmost, nameEntry, readCondition } from './condition-lists.ts';

/** One expected entry. */
interface Step {
  readonly q: string;
  /** The ids of all entries that match. */
  readonly ids: ReadonlySet<string>;
}

type Entry = Awaited<ReturnType<ConditionLists[VerifyRequest['list']]>>[number];

/** Reads each filter once, regardless of how many steps have it. */
async function readSteps(
  lists: ConditionLists,
  { list, expected }: Pick<VerifyRequest, 'list' | 'expected'>,
): Promise<Step[]> {
  const byFilter = new Map<string, Step>();
  for (const [place, { q }] of expected.entries()) {
    readCondition(list, q, `expected.${place}.q`);
    if (byFilter.has(q)) continue;
    const matching = await lists[list](q, SANDBOX_PAGE.max);
    byFilter.set(q, { q, ids: new Set(matching.map(({ id }) => id)) });
  }
  return expected.flatMap(({ q, count = 1 }) => Array.from({ length: count }, () => byFilter.get(q) as Step));
}

/** Compares a list with what is expected of it. Throws `invalid_request` for a filter that the list does not take. */
export async function verify(lists: ConditionLists, request: VerifyRequest): Promise<Verified> {
  const { list, q = '', anyOrder = false, only = false } = request;
  readCondition(list, q);
  const steps = await readSteps(lists, request);
  const entries: Entry[] = (await lists[list](q, SANDBOX_PAGE.max)).reverse();
  const fits = (step: number, place: number): boolean =>
    steps[step]?.ids.has(entries[place]?.id ?? '') === true;
  const align = anyOrder ? alignInAnyOrder : alignInOrder;
  const aligned = align(steps.length, entries.length, fits);
  const taken = new Set(aligned.filter((place) => place !== null));

  const differences: Difference[] = [];
  for (const [index, step] of steps.entries()) {
    if (aligned[index] !== null) continue;
    const what = { place: index + 1, q: step.q };
    const elsewhere = entries.findIndex((_, place) => !taken.has(place) && fits(index, place));
    const entry = entries[elsewhere];
    if (entry === undefined) {
      differences.push({
        kind: 'missing',
        ...what,
        ...(await explainMissing(lists, list, step.q, entries, taken)),
      });
      continue;
    }
    taken.add(elsewhere);
    const neighbor = describeNeighbor(aligned, index, elsewhere);
    differences.push({
      kind: 'out_of_order',
      ...what,
      id: entry.id,
      reading: `${nameEntry(list, entry)} comes ${neighbor}.`,
    });
  }
  const others = only ? entries.filter((_, place) => !taken.has(place)) : [];
  for (const entry of others) {
    differences.push({
      kind: 'unexpected',
      id: entry.id,
      reading: `${nameEntry(list, entry)} is not expected.`,
    });
  }
  return {
    holds: differences.length === 0,
    examined: entries.length,
    differences,
    explanation: explain(request, steps.length, differences),
  };
}

/** Where an entry is that was expected elsewhere: after one of a later step, or before one of an earlier step. */
function describeNeighbor(aligned: readonly (number | null)[], index: number, elsewhere: number): string {
  const later = aligned.findIndex((place, step) => step > index && place !== null && place < elsewhere);
  if (later !== -1) return `after the entry of place ${later + 1}`;
  const earlier = aligned.findLastIndex((place, step) => step < index && place !== null && place > elsewhere);
  return `before the entry of place ${earlier + 1}`;
}

/** The newest entry that nothing else is matched with and that fails one condition. */
async function explainMissing(
  lists: ConditionLists,
  list: VerifyRequest['list'],
  q: string,
  entries: readonly Entry[],
  taken: ReadonlySet<number>,
): Promise<Pick<Difference, 'id' | 'reading'>> {
  const free = new Set(entries.flatMap(({ id }, place) => (taken.has(place) ? [] : [id])));
  const almost = await findAlmost(lists, list, readCondition(list, q), SANDBOX_PAGE.max);
  const nearest = almost.find(({ entry }) => free.has(entry.id));
  if (nearest === undefined) return { reading: 'No further entry matches.' };
  const { entry, unmet } = nearest;
  return {
    id: entry.id,
    reading: `No further entry matches. ${nameEntry(list, entry)} does not meet ${unmet}.`,
  };
}

function explain(
  { anyOrder, only }: VerifyRequest,
  steps: number,
  differences: readonly Difference[],
): string {
  if (differences.length === 0) {
    const order = anyOrder === true || steps < 2 ? '' : ' in this order';
    return `All ${steps} expected entries are there${order}${only === true ? ', and no others' : ''}.`;
  }
  return differences
    .map(({ place, q, reading }) =>
      place === undefined ? reading : `${place}. ${q === '' ? 'any' : q}: ${reading}`,
    )
    .join('\n');
}
