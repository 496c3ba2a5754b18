import { readSources } from '../architecture/source-files.ts';
import type { RequirementId } from '../requirements.ts';

/** A way to break a rule. */
export interface Mutant {
  readonly rule: RequirementId;
  /** Stands exactly once below `src`. */
  readonly find: string;
  readonly replace: string;
}

/** A file of `src` as it is, and with a rule broken. */
export interface MutatedFile {
  readonly path: string;
  readonly source: string;
  readonly broken: string;
}

const sources = readSources('src');

/** Finds the place that a mutant changes. Throws when its text stands nowhere below `src`, or more than once. */
export function findMutant({ rule, find, replace }: Mutant): MutatedFile {
  const found = sources.filter(({ source }) => source.includes(find));
  const [file, another] = found;
  if (file === undefined || another !== undefined || file.source.split(find).length !== 2) {
    const places = found.map(({ path }) => path).join(', ') || 'nowhere';
    throw new Error(`test/mutants/mutants.ts, ${rule}: not exactly once below src (${places}):\n${find}`);
  }
  // A function, so that `$` means itself.
  return { path: file.path, source: file.source, broken: file.source.replace(find, () => replace) };
}
