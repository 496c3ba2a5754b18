/** Edit distance between two names: a letter more, less or changed. */
function editDistance(a: string, b: string): number {
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      current.push(
        Math.min(
          (last[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (last[column - 1] ?? 0) + (same ? 0 : 1),
        ),
      );
    }
    last = current;
  }
  return last[b.length] ?? 0;
}

/** A name that looks like a misspelled setting. */
export interface NearName {
  readonly found: string;
  readonly meant: string;
}

/** A sentence that suggests the correct name. */
export function describeTypo({ found, meant }: NearName): string {
  return `The variable ${found} is not a setting. Did you mean ${meant}?`;
}

/** The known name that differs from `name` in the fewest letters, and in at most `most`; undefined if there is none. */
export function findNearest(name: string, known: readonly string[], most: number): string | undefined {
  const [nearest] = known
    .map((candidate) => ({ candidate, distance: editDistance(name.toUpperCase(), candidate.toUpperCase()) }))
    .sort((a, b) => a.distance - b.distance);
  return nearest === undefined || nearest.distance > most ? undefined : nearest.candidate;
}

/** The known name that continues `name` with further words, such as a unit; undefined if there is not exactly one. */
function findComplete(name: string, known: readonly string[]): string | undefined {
  const longer = known.filter((candidate) => candidate.startsWith(`${name}_`));
  return name.includes('_') && longer.length === 1 ? longer[0] : undefined;
}

/** Finds names that are not settings but are so similar to one that they are probably misspelled. */
export function findSimilarNames(found: Iterable<string>, known: readonly string[]): NearName[] {
  return [...found].flatMap((name) => {
    const meant =
      findNearest(name, known, Math.min(2, Math.floor(name.length / 5))) ?? findComplete(name, known);
    return meant === undefined || meant === name ? [] : [{ found: name, meant }];
  });
}
