import { type Probe, Violation } from '../../../certify/src/runner/check.ts';
import type { Exchange } from '../../../certify/src/runner/exchange.ts';

/** The result of checking a value. */
interface Comparison {
  /** Where a value is not as required. */
  readonly faults: { readonly path: string; readonly expected: string; readonly actual: string }[];
  /** Fields that no table lists. */
  readonly extras: Set<string>;
}

/** Describes what is wrong with a value. */
export type Shape = (value: unknown, path: string, comparison: Comparison) => void;

const MAX_FAULTS = 5;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})$/;

function simple(expected: string, holds: (value: unknown) => boolean): Shape {
  return (value, path, comparison) => {
    if (!holds(value)) comparison.faults.push({ path, expected, actual: nameValue(value) });
  };
}

/** Describes a value without revealing private ones. */
export function nameValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return String(value);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object') return `an object with ${Object.keys(value).join(', ') || 'no fields'}`;
  if (typeof value !== 'string') return typeof value;
  return value.length <= 40 ? JSON.stringify(value) : `a string of ${value.length} characters`;
}

export const string = simple('a string', (value) => typeof value === 'string');
export const filled = simple('a non-empty string', (v) => typeof v === 'string' && v !== '');
export const digits = simple(
  'a string of international digits, without +',
  (value) => typeof value === 'string' && /^\d{5,15}$/.test(value),
);
export const uri = simple('a URI', (value) => typeof value === 'string' && URL.canParse(value));
export const dateTime = simple(
  'an ISO 8601 date-time',
  (value) => typeof value === 'string' && DATE_TIME.test(value) && !Number.isNaN(Date.parse(value)),
);
export const epochMs = simple(
  'epoch milliseconds, a number of 13 digits',
  (value) => typeof value === 'number' && value >= 1e12 && value < 1e13,
);
export const count = simple(
  'an integer of at least 0',
  (value) => typeof value === 'number' && Number.isInteger(value) && value >= 0,
);
export const flag = simple('a boolean', (value) => typeof value === 'boolean');
export const yes = simple('true', (value) => value === true);

/** One of several values. */
export function oneOf(values: readonly unknown[]): Shape {
  return simple(`one of ${values.map(nameValue).join(', ')}`, (value) => values.includes(value));
}

/** A string that matches a pattern, which is described in words. */
export function matching(expected: string, pattern: RegExp): Shape {
  return simple(expected, (value) => typeof value === 'string' && pattern.test(value));
}

/** Null, or what the other shape requires. */
export function orNull(shape: Shape): Shape {
  return (value, path, comparison) => {
    if (value === null) return;
    const inner: Comparison = { faults: [], extras: comparison.extras };
    shape(value, path, inner);
    comparison.faults.push(
      ...inner.faults.map((fault) => ({ ...fault, expected: `${fault.expected}, or null` })),
    );
  };
}

/** Absent, null, or what the other shape requires: for fields that the specification leaves open. */
export function open(shape: Shape): Shape {
  const inner = orNull(shape);
  return (value, path, comparison) => {
    if (value !== undefined) inner(value, path, comparison);
  };
}

/** A list of one kind of element. */
export function listOf(shape: Shape): Shape {
  return (value, path, comparison) => {
    if (!Array.isArray(value)) {
      comparison.faults.push({ path, expected: 'an array', actual: nameValue(value) });
      return;
    }
    for (const [index, item] of value.entries()) shape(item, `${path}[${index}]`, comparison);
  };
}

/** An object with these fields. Others are allowed, and reported. */
export function object(fields: Readonly<Record<string, Shape>>): Shape {
  return (value, path, comparison) => {
    if (!isObject(value)) {
      comparison.faults.push({ path: path || 'the body', expected: 'an object', actual: nameValue(value) });
      return;
    }
    for (const [name, shape] of Object.entries(fields)) {
      shape(value[name], path === '' ? name : `${path}.${name}`, comparison);
    }
    const place = path.replace(/\[\d+\]/g, '[]');
    for (const name of Object.keys(value)) {
      if (!Object.hasOwn(fields, name)) comparison.extras.add(place === '' ? name : `${place}.${name}`);
    }
  };
}

/** True for a JSON object. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Checks a value. */
export function compareShape(value: unknown, shape: Shape, path = ''): Comparison {
  const comparison: Comparison = { faults: [], extras: new Set() };
  shape(value, path, comparison);
  return comparison;
}

/** Requires a shape of the body of a response. Unknown fields become a remark. */
export function demandShape(exchange: Exchange, shape: Shape, probe: Pick<Probe, 'note'>): void {
  demandValue(exchange.json, shape, probe, exchange);
}

/** Requires a shape of a value. @throws Violation */
export function demandValue(
  value: unknown,
  shape: Shape,
  probe: Pick<Probe, 'note'>,
  exchange?: Exchange,
  path = '',
): void {
  const { faults, extras } = compareShape(value, shape, path);
  if (extras.size > 0) probe.note(`further fields: ${[...extras].join(', ')}`);
  if (faults.length === 0) return;
  const shown = faults.slice(0, MAX_FAULTS);
  const more = faults.length > shown.length ? ` and ${faults.length - shown.length} more` : '';
  throw new Violation(
    shown.map(({ path: at, expected }) => `${at}: ${expected}`).join('; ') + more,
    shown.map(({ path: at, actual }) => `${at}: ${actual}`).join('; ') + more,
    exchange,
  );
}
