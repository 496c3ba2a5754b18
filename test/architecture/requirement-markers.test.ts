import { describe, expect, it } from 'vitest';
import { findMutant } from '../mutants/find-mutant.ts';
import { MUTANTS } from '../mutants/mutants.ts';
import { REQUIREMENTS, type RequirementId } from '../requirements.ts';
import { readSources } from './source-files.ts';
import { lineAt, splitSource } from './source-parts.ts';

/** Rules that no line implements, and why. */
const WITHOUT_A_LINE: Readonly<Partial<Record<RequirementId, string>>> = {
  'webhook.config.no-delete': 'The table of endpoints has no such row.',
};

/** With more places, searching for an id would be useless. */
const PLACES_MAX = 4;

/** An id in brackets in a comment: `// [limits.text]`, or at the end of a doc comment. */
const MARKER = /\[([a-z-]+(?:\.[\w-]+)+)\]/g;

function findMarkers(source: string): readonly { readonly id: string; readonly line: number }[] {
  const { code, texts } = splitSource(source);
  const isText = (at: number): boolean =>
    texts.some(({ text, at: from }) => at >= from && at <= from + text.length);
  return [...source.matchAll(MARKER)]
    .filter(({ index }) => code[index] === ' ' && !isText(index))
    .map(({ 1: id = '', index }) => ({ id, line: lineAt(source, index) }));
}

const markers = readSources('src').flatMap(({ path, source }) =>
  findMarkers(source).map(({ id, line }) => ({ id, path, place: `${path}:${line}` })),
);
const implementing = Map.groupBy(markers, ({ id }) => id);

describe('the source', () => {
  it('names the id of each rule where it is implemented, by a marker that moves with its code', () => {
    const excused = new Set(Object.keys(WITHOUT_A_LINE));
    const missing = REQUIREMENTS.filter(
      ({ id, kind }) => kind === 'proven' && !implementing.has(id) && !excused.has(id),
    );
    expect(missing.map(({ id, rule }) => `${id}: ${rule}`)).toEqual([]);
  });

  it('names only ids of test/requirements', () => {
    const known = new Set<string>(REQUIREMENTS.map(({ id }) => id));
    expect(markers.filter(({ id }) => !known.has(id))).toEqual([]);
  });

  it(`names no id at more than ${PLACES_MAX} places`, () => {
    const often = [...implementing].filter(([, places]) => places.length > PLACES_MAX);
    expect(often.map(([id, places]) => [id, places.map(({ place }) => place)])).toEqual([]);
  });

  it('names a rule in each file in which a mutant breaks it', () => {
    const broken = MUTANTS.map((mutant) => ({ id: mutant.rule, path: findMutant(mutant).path }));
    const isNamed = ({ id, path }: (typeof broken)[number]): boolean =>
      implementing.get(id)?.some((marker) => marker.path === path) === true;
    expect(broken.filter((place) => !isNamed(place))).toEqual([]);
  });

  it('exempts no rule that it names', () => {
    expect(Object.keys(WITHOUT_A_LINE).filter((id) => implementing.has(id))).toEqual([]);
  });
});
