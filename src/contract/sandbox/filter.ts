import { z } from 'zod';
import { quoteValue } from './quote-value.ts';

/** A key that a list can be filtered by. */
export interface FilterKey {
  /** What it compares, for people. */
  readonly description: string;
  /** Every value that exists. If absent, `pattern` decides; without both, any value is accepted. */
  readonly values?: readonly string[];
  /** What a value or its beginning must match, and a description of that which follows "must be". */
  readonly pattern?: readonly [RegExp, string];
}

/** The keys of a list by name. */
export type FilterKeys = Readonly<Record<string, FilterKey>>;

/** One condition: a key and its value, or a text to search for. */
export interface FilterTerm<Key extends string = string> {
  /** Null for a text. */
  readonly key: Key | null;
  readonly value: string;
  /** The value only has to begin with `value`. */
  readonly prefix: boolean;
  /** Entries that match are left out. */
  readonly negated: boolean;
}

/** Conditions: an entry must match at least one term of each clause. */
export type Filter<Key extends string = string> = readonly (readonly FilterTerm<Key>[])[];

/** The largest length of a filter, in characters. */
export const LONGEST_FILTER = 1_000;
const LONGEST_QUOTED = 60;

function quote(token: string): string {
  return `\`${token.length > LONGEST_QUOTED ? `${token.slice(0, LONGEST_QUOTED)}…` : token}\``;
}

function problemOf(keys: FilterKeys, { key, value, prefix }: FilterTerm): string | null {
  if (key === null) return value === '' && !prefix ? 'has no text' : null;
  const definition = Object.hasOwn(keys, key) ? keys[key] : undefined;
  if (definition === undefined) {
    const known = Object.keys(keys).join(', ');
    return `has an unknown key; the keys are ${known}. Put a text that contains a colon in quotation marks`;
  }
  if (value === '' && !prefix) return `has no value; ${key}:* matches every value`;
  const { values, pattern } = definition;
  const isKnown = values?.some((known) => (prefix ? known.startsWith(value) : known === value)) ?? true;
  if (!isKnown) return `has an unknown value; the values of ${key} are ${values?.join(', ')}`;
  if (pattern !== undefined && value !== '' && !pattern[0].test(value)) return `must be ${pattern[1]}`;
  return null;
}

function readToken(token: string): FilterTerm {
  const [, not = '', key, written = ''] = /^(!?)(?:([A-Za-z]\w*):)?(.*)$/s.exec(token) ?? [];
  const prefix = written.endsWith('*');
  return {
    key: key ?? null,
    value: (prefix ? written.slice(0, -1) : written).replace(/"((?:[^"]|"")*)"/g, (_, quoted: string) =>
      quoted.replaceAll('""', '"'),
    ),
    prefix,
    negated: not !== '',
  };
}

/**
 * Reads `status:dropped !type:message.* "any text"`; in quotation marks, `""` is one of them. Values of the same key are
 * alternatives; everything else must hold together. Returns a sentence about the first invalid token, which it names,
 * if there is one.
 */
export function parseFilter<Keys extends FilterKeys>(
  keys: Keys,
  text: string,
): Filter<keyof Keys & string> | string {
  if ((text.split('"').length - 1) % 2 === 1) return 'has a quotation mark that is not closed';
  const terms: FilterTerm<keyof Keys & string>[] = [];
  for (const token of text.match(/(?:[^\s"]|"[^"]*")+/g) ?? []) {
    const term = readToken(token);
    const problem = problemOf(keys, term);
    if (problem !== null) return `${quote(token)} ${problem}`;
    terms.push(term as (typeof terms)[number]);
  }
  const isAlternative = ({ key, negated }: FilterTerm): boolean => key !== null && !negated;
  const byKey = Map.groupBy(terms.filter(isAlternative), ({ key }) => key);
  return [...byKey.values(), ...terms.filter((term) => !isAlternative(term)).map((term) => [term])];
}

function writeTerm({ key, value, prefix, negated }: FilterTerm): string {
  const head = `${negated ? '!' : ''}${key === null ? '' : `${key}:`}`;
  // The beginning of a value ends in a star outside of quotation marks.
  return `${head}${quoteValue(value)}${prefix ? '*' : ''}`;
}

/** The text that `parseFilter` reads as these conditions. */
export function writeFilter(filter: Filter): string {
  return filter.flat().map(writeTerm).join(' ');
}

/** A filter for exact values; undefined ones are left out. */
export function exactly<Key extends string>(
  values: Readonly<Partial<Record<Key, string | undefined>>>,
): Filter<Key> {
  const given = Object.entries<string | undefined>(values).filter(([, value]) => value !== undefined);
  return given.map(([key, value = '']) => [{ key: key as Key, value, prefix: false, negated: false }]);
}

function fits({ key, value, prefix, negated }: FilterTerm, values: readonly string[]): boolean {
  const wanted = value.toLowerCase();
  const isHit = values.some((one) => {
    if (key === null) return one.toLowerCase().includes(wanted);
    return prefix ? one.startsWith(value) : one === value;
  });
  return isHit !== negated;
}

/** Whether an entry matches. `valuesOf` returns its values for a key, and the texts that are searched for null. */
export function matchesFilter<Key extends string>(
  filter: Filter<Key>,
  valuesOf: (key: Key | null) => readonly string[],
): boolean {
  return filter.every((clause) => clause.some((term) => fits(term, valuesOf(term.key))));
}

/** The query field `q` of a list with these keys; `parseFilter` reads it. */
export function filterQuery(keys: FilterKeys) {
  const listed = Object.entries(keys).map(([key, { description, values = [] }]) => {
    const choice = values.length === 0 ? '' : ` (${values.join(', ')})`;
    return `\`${key}\`: ${description}${choice}`;
  });
  return z
    .string()
    .max(LONGEST_FILTER)
    .optional()
    .describe(
      `A filter: \`key:value\`, \`!key:value\` for all others, \`key:beginning*\`, and words or "quoted text" to search for. Values of the same key are alternatives; otherwise all conditions must hold. Keys: ${listed.join('; ')}.`,
    );
}
