import { z } from 'zod';
import { type Probe, Violation } from '../../../certify/src/runner/check.ts';
import type { Exchange } from '../../../certify/src/runner/exchange.ts';
import { nameValue } from './judge.ts';

/** What a value must be. */
export type Shape = z.ZodType;

const MAX_FAULTS = 5;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})$/;

/** A value that a schema accepts, and what a finding calls it. */
function kind(expected: string, schema: Shape): Shape {
  return z.custom((value) => schema.safeParse(value).success, expected).describe(expected);
}

export const string = kind('a string', z.string());
export const filled = kind('a non-empty string', z.string().min(1));
export const digits = kind('a string of international digits, without +', z.string().regex(/^\d{5,15}$/));
export const uri = kind('a URI', z.url());
export const dateTime = kind(
  'an ISO 8601 date-time',
  z
    .string()
    .regex(DATE_TIME)
    .refine((text) => !Number.isNaN(Date.parse(text))),
);
export const epochMs = kind('epoch milliseconds, a number of 13 digits', z.number().min(1e12).lt(1e13));
export const count = kind('an integer of at least 0', z.int().min(0));
export const flag = kind('a boolean', z.boolean());
export const yes = kind('true', z.literal(true));

/** One of several values. */
export const oneOf = (values: readonly string[]): Shape =>
  kind(`one of ${values.map(nameValue).join(', ')}`, z.enum(values));

/** A string that matches a pattern, which is described in words. */
export const matching = (expected: string, pattern: RegExp): Shape =>
  kind(expected, z.string().regex(pattern));

/** Null, or what the other shape requires. */
export const orNull = (shape: Shape): Shape => kind(`${shape.description}, or null`, shape.nullable());

/** Absent, null, or what the other shape requires: for fields that the specification leaves open. */
export const open = (shape: Shape): Shape =>
  (shape.description === undefined ? shape.nullable() : orNull(shape)).optional();

/** A list of one kind of element. */
export const listOf = (shape: Shape): Shape => z.array(shape, 'an array');

/** An object with these fields. Others are allowed, and reported. */
export const object = (fields: Readonly<Record<string, Shape>>): Shape => z.strictObject(fields, 'an object');

const write = (path: readonly PropertyKey[]): string =>
  path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .replace(/^\./, '');

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce((inner, key) => (inner as Record<PropertyKey, unknown>)[key], value);

/** Where a value is not as required, and its fields that no table lists. */
export function compareShape(value: unknown, shape: Shape) {
  const issues = shape.safeParse(value).error?.issues ?? [];
  const faults = issues
    .filter(({ code }) => code !== 'unrecognized_keys')
    .map(({ path, message }) => {
      return { path: write(path) || 'the body', expected: message, actual: nameValue(valueAt(value, path)) };
    });
  const extras = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys.map((key) => write([...issue.path, key])) : [],
  );
  return { faults, extras: [...new Set(extras.map((path) => path.replace(/\[\d+\]/g, '[]')))] };
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
): void {
  const { faults, extras } = compareShape(value, shape);
  if (extras.length > 0) probe.note(`further fields: ${extras.join(', ')}`);
  if (faults.length === 0) return;
  const shown = faults.slice(0, MAX_FAULTS);
  const more = faults.length > shown.length ? ` and ${faults.length - shown.length} more` : '';
  throw new Violation(
    shown.map(({ path, expected }) => `${path}: ${expected}`).join('; ') + more,
    shown.map(({ path, actual }) => `${path}: ${actual}`).join('; ') + more,
    exchange,
  );
}
