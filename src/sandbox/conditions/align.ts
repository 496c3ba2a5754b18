/** Which entry each step was matched with: its place, or null. */
export type Alignment = (number | null)[];

/** Whether a step matches the entry at a place. */
type Fits = (step: number, place: number) => boolean;

/** The longest alignment in which the entries of later steps come later. Of several, the earliest entries. */
export function alignInOrder(steps: number, entries: number, fits: Fits): Alignment {
  const width = entries + 1;
  /** The longest alignment of the steps from one on with the entries from one on. */
  const best = new Uint16Array((steps + 1) * width);
  const at = (step: number, place: number): number => best[step * width + place] ?? 0;
  for (let step = steps - 1; step >= 0; step -= 1) {
    for (let place = entries - 1; place >= 0; place -= 1) {
      best[step * width + place] = Math.max(
        at(step + 1, place),
        at(step, place + 1),
        fits(step, place) ? at(step + 1, place + 1) + 1 : 0,
      );
    }
  }
  const aligned: Alignment = [];
  let place = 0;
  for (let step = 0; step < steps; step += 1) {
    let taken: number | null = null;
    for (let candidate = place; candidate < entries && taken === null; candidate += 1) {
      if (at(step, candidate) < at(step, place)) break;
      if (fits(step, candidate) && at(step + 1, candidate + 1) + 1 === at(step, place)) taken = candidate;
    }
    aligned.push(taken);
    if (taken !== null) place = taken + 1;
  }
  return aligned;
}

/** The largest alignment in any order. */
export function alignInAnyOrder(steps: number, entries: number, fits: Fits): Alignment {
  const aligned: Alignment = Array.from({ length: steps }, () => null);
  const takenBy = new Map<number, number>();
  /** Gives the step an entry; one that has an entry may have to take another. */
  const place = (step: number, tried: Set<number>): boolean => {
    for (let entry = 0; entry < entries; entry += 1) {
      if (tried.has(entry) || !fits(step, entry)) continue;
      tried.add(entry);
      const holder = takenBy.get(entry);
      if (holder !== undefined && !place(holder, tried)) continue;
      takenBy.set(entry, step);
      aligned[step] = entry;
      return true;
    }
    return false;
  };
  for (let step = 0; step < steps; step += 1) place(step, new Set());
  return aligned;
}
