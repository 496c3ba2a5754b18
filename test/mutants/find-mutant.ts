import { readSources, TESTS } from '../architecture/source-files.ts';
import type { RequirementId } from '../requirements.ts';

interface Edit {
  /** Occurs exactly once below `src`. */
  readonly find: string;
  readonly replace: string;
}

/** A way to break a rule of the specification; a test that cites the rule must fail. */
export interface CitedMutant extends Edit {
  readonly rule: RequirementId;
  readonly test?: undefined;
}

/** A way to break a rule that the connector sets itself. */
export interface ConnectorMutant extends Edit {
  readonly rule: `connector.${string}`;
  /** The test that must fail: a part of its name that occurs in one test file, or that file. */
  readonly test: string;
}

/** A way to break a rule. */
export type Mutant = CitedMutant | ConnectorMutant;

/** A file of `src`, and the same file with a broken rule. */
export interface MutatedFile {
  readonly path: string;
  readonly source: string;
  readonly broken: string;
}

const sources = readSources('src');
const testFiles = readSources(...TESTS).filter(({ path }) => path.endsWith('.test.ts'));

/** Some tests of a file; with an empty name, all of them. */
export interface NamedTest {
  readonly file: string;
  readonly name: string;
}

/** Finds the test of a rule of the connector. Throws if there is none, or if its name occurs in several files. */
export function findTest({ rule, test }: ConnectorMutant): NamedTest {
  const isFile = test.endsWith('.test.ts');
  const found = testFiles.filter(({ path, source }) => (isFile ? path === test : source.includes(test)));
  const [file, another] = found;
  if (file === undefined || another !== undefined) {
    const places = found.map(({ path }) => path).join(', ') || 'nowhere';
    throw new Error(`test/mutants, ${rule}: not in exactly one test file (${places}): ${test}`);
  }
  return { file: file.path, name: isFile ? '' : test };
}

/** Finds the place that a mutant changes. Throws unless its text occurs exactly once below `src`. */
export function findMutant({ rule, find, replace }: Mutant): MutatedFile {
  const found = sources.filter(({ source }) => source.includes(find));
  const [file, another] = found;
  if (file === undefined || another !== undefined || file.source.split(find).length !== 2) {
    const places = found.map(({ path }) => path).join(', ') || 'nowhere';
    throw new Error(
      `test/mutants, ${rule}: its \`find\` must be in src exactly once, and is in ${places}. If you changed that line, change \`find\` and \`replace\` as well:\n${find}`,
    );
  }
  // A function, so that `$` means itself.
  return { path: file.path, source: file.source, broken: file.source.replace(find, () => replace) };
}
